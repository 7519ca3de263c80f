r"""Derivatives of equilibria, and of what small motions about them have: eigenvalues, responses.

.. math:: \begin{bmatrix} K & B^T\\ B & 0\end{bmatrix}
   \begin{bmatrix}\delta q\\ \delta\lambda\end{bmatrix} =
   -\begin{bmatrix} r_p\\ \Phi_p\end{bmatrix}, \qquad
   \delta s = -\frac{w^T(s^2\,\delta E_2 + s\,\delta E_1 + \delta E_0)\,u}{w^T(2sE_2 + E_1)\,u}

with :math:`E_2 = \mathrm{diag}(M, 0)`, :math:`E_1 = \mathrm{diag}(G, 0)`, :math:`E_0` the matrix
on the left, right and left vectors u and w; :math:`\delta E` along the parameter and along
:math:`(\delta q, \delta\lambda)` of the equilibrium. Of a repeated eigenvalue these are the
eigenvalues of the same quotient on all of its vectors: a set that belongs to one direction of
parameters. A critical load factor f is the same with :math:`E_0(f)`: both along the path of
equilibria,

.. math:: \delta f = -\frac{w^T\,\delta E_0\,u}{w^T E_0'\,u} .

One number of an equilibrium by many parameters needs one solution of the transpose,
:math:`dJ = \mu^T r_p + \nu^T\Phi_p + J_p`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
