"""What a user calls first: ``simulate``, ``load`` and the ``Solution`` they return."""
