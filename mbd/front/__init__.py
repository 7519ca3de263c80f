"""The front door: ``simulate``, ``load`` and the ``Solution`` they return."""
