# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Python imports this module at start-up, because its folder stands first in PYTHONPATH. It installs the hooks and then runs the
sitecustomize that it hides, if there is one."""

import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _elsewhere():
    return [p for p in sys.path if os.path.abspath(p or os.curdir) != _here]


import tapedeck_freeze  # noqa: E402
import tapedeck_preload  # noqa: E402

tapedeck_freeze.install()
tapedeck_preload.install()

_spec = importlib.machinery.PathFinder.find_spec("sitecustomize", _elsewhere())
if _spec is not None and _spec.loader is not None:
    _module = importlib.util.module_from_spec(_spec)
    sys.modules["sitecustomize"] = _module
    _spec.loader.exec_module(_module)
