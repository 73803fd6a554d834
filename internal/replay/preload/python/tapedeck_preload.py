# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Answers the tool calls of agent frameworks from an oracle instead of running the tools.

Each framework has one place through which every call of a function tool goes. The hook replaces the function at that place, after the
framework has checked the arguments and started its own span, so that validation, error handling and telemetry stay the framework's.
What is asked are the arguments as the model wrote them, where the framework still has them.

A recorded answer is returned, and a recorded error is raised, of the class that it had, so that the framework and the agent make of it what
they made when the run was recorded. Where that class cannot be made again the model is shown what it was shown, as a failure. A miss is raised
as OracleMiss. When the oracle cannot be asked the process
ends with status 70: a replay without its oracle would run tools. A framework of a version that is not known ends it with status 78,
unless TAPEDECK_PRELOAD_ALLOW names its distribution.

Environment: TAPEDECK_ORACLE_URL (without it nothing is hooked), TAPEDECK_REPLAY_RUN_ID, TAPEDECK_ORACLE_RUN (the run of a deck),
TAPEDECK_ORACLE_TOKEN, TAPEDECK_ALLOW_LIVE (names of tools that run, separated by commas), TAPEDECK_PRELOAD_REPORT (a file to which one
JSON object per line is appended: what was hooked, what ran live).
"""

import asyncio
import contextlib
import contextvars
import dataclasses
import functools
import http.client
import importlib.metadata
import importlib.util
import inspect
import json
import os
import re
import ssl
import sys
import threading
import urllib.parse

EX_SOFTWARE, EX_CONFIG = 70, 78


class OracleMiss(Exception):
    """The tape has no answer to this call."""


class RecordedToolError(Exception):
    """The tool failed when the run was recorded, with an error whose class is not known or cannot be made again. The text is its message, where
    that was recorded. shown is the value that the model was shown of it."""

    shown = None


def _recorded(answer):
    """The error to raise: of the recorded class, as far as that is loaded and can be made of a text. Else a RecordedToolError of its name."""
    shown = json.loads(answer["response"]) if answer.get("response_format") == "json" else answer["response"]
    name, text = answer.get("error_type") or "", answer.get("error_message")
    module, _, last = name.rpartition(".")
    if text is not None:
        of = _class(module, last)
        err = _made(of, text) if of is not None else None
        if err is not None:
            return err
    own = {"__module__": module or "builtins"}
    of = type(last, (RecordedToolError,), own) if last.isidentifier() else RecordedToolError
    err = of(text if text is not None else answer["response"])
    err.shown = shown
    return err


def _class(module, last):
    """The loaded class of exceptions with a name; the module may be missing, or another one than where it is defined."""
    if not last:
        return None
    of = getattr(sys.modules.get(module or "builtins"), last, None)
    if isinstance(of, type) and issubclass(of, Exception) and not issubclass(of, RecordedToolError):
        return of
    found = [c for c in _exceptions(Exception) if c.__name__ == last]
    return found[0] if len(found) == 1 else None


def _made(of, text):
    """An exception of a class that says the text, or None. Some constructors write the text around what they are given, others want more than
    a text: then the exception is made without them, and lacks what they set."""

    def mcp():
        from mcp.types import INTERNAL_ERROR, ErrorData

        return of(ErrorData(code=INTERNAL_ERROR, message=text))

    def bare(cls=of):
        err = cls.__new__(cls, text)
        err.args = (text,)
        return err

    def saying():
        return bare(type(of.__name__, (of,), {"__module__": of.__module__, "__qualname__": of.__qualname__, "__str__": lambda self: text}))

    for make in (mcp,) if of.__name__ == "McpError" else (lambda: of(text), bare, saying):
        try:
            err = make()
            if str(err) == text:
                return err
        except Exception:  # it cannot be made so
            pass
    return None


def _exceptions(base):
    """The loaded classes of exceptions."""
    known, todo = set(), [base]
    while todo:
        for cls in todo.pop().__subclasses__():
            if cls not in known and not issubclass(cls, RecordedToolError):
                known.add(cls)
                todo.append(cls)
    return known


def _end(status, text):
    print("tapedeck: " + text, file=sys.stderr, flush=True)
    try:
        sys.stdout.flush()
    finally:
        os._exit(status)


_report_lock = threading.Lock()


def _note(**what):
    path = os.environ.get("TAPEDECK_PRELOAD_REPORT")
    if not path:
        return
    line = json.dumps({"pid": os.getpid(), **what}) + "\n"
    with _report_lock, open(path, "a", encoding="utf-8") as f:
        f.write(line)


# ---- the oracle ----

def _post(body):
    url = urllib.parse.urlsplit(os.environ["TAPEDECK_ORACLE_URL"])
    path = url.path.rstrip("/") + "/v1/"
    run = os.environ.get("TAPEDECK_ORACLE_RUN")
    if run:
        path += "runs/" + urllib.parse.quote(run, safe="") + "/"
    headers = {"Content-Type": "application/json"}
    token = os.environ.get("TAPEDECK_ORACLE_TOKEN")
    if token:
        headers["Authorization"] = "Bearer " + token
    if url.scheme == "https":
        connection = http.client.HTTPSConnection(url.netloc, context=ssl.create_default_context(), timeout=None)
    else:
        connection = http.client.HTTPConnection(url.netloc, timeout=None)
    try:
        connection.request("POST", path + "tool-calls", json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class _Call:
    """One tool call on its way: what the model asked. failed(call, error) returns what a framework has for a failure in place of a RecordedToolError
    that would end its run, or raises it; returned is what it makes of a value."""

    def __init__(self, tool, args, call_id=None, failed=None, returned=None):
        self.tool, self.args, self.call_id, self.failed, self.returned = tool, args, call_id, failed, returned
        allowed = {t.strip() for t in os.environ.get("TAPEDECK_ALLOW_LIVE", "").split(",")}
        self.allowed = tool in allowed or "*" in allowed
        self.answer = None
        self.raised = None  # the recorded error

    @property
    def live(self):
        """Whether the tool is to run: it is declared, or the oracle says so of this call."""
        return self.allowed or self._answer()["outcome"] == "live"

    def _answer(self):
        if self.answer is None:
            self.answer = self._asked()
        return self.answer

    def _asked(self):
        body = {"replay_run_id": os.environ.get("TAPEDECK_REPLAY_RUN_ID", ""), "tool_name": self.tool}
        if isinstance(self.args, str):
            body["args_raw"] = self.args
        else:
            try:
                body["args_raw"] = json.dumps(self.args, ensure_ascii=False, default=_plain)
            except (TypeError, ValueError) as err:
                _end(EX_SOFTWARE, f"the arguments of {self.tool} cannot be written as JSON: {err}")
        if self.call_id:
            body["tool_call_id"] = self.call_id
        try:
            status, text = _post(body)
            answer = json.loads(text) if status == 200 else None
        except (OSError, http.client.HTTPException, ValueError) as err:
            _end(EX_SOFTWARE, f"the oracle cannot be asked for {self.tool}: {err}")
        if answer is None:
            _end(EX_SOFTWARE, f"the oracle answered {status} for {self.tool}: {text[:500].decode('utf-8', 'replace')}")
        return answer

    def ask(self):
        value = self._ask()
        return value if self.returned is None else self.returned(value)

    def _ask(self):
        answer = self._answer()
        if not answer["hit"]:
            raise OracleMiss(f"no recorded answer for this call of {self.tool}: {answer['reason']}")
        if answer["is_error"]:
            self.raised = _recorded(answer)
            if self.failed is not None and isinstance(self.raised, RecordedToolError):
                return self.failed(self, self.raised)
            raise self.raised
        if answer.get("response_format") == "json":
            return json.loads(answer["response"])
        return answer["response"]


def _plain(value):
    """A value of a tool's argument as JSON has it."""
    for name in ("model_dump", "dict"):
        method = getattr(value, name, None)
        if callable(method):
            return method(mode="json") if name == "model_dump" else method()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "value"):
        return value.value
    return str(value)


# The call that a framework has begun and whose function was not reached yet.
_begun = contextvars.ContextVar("tapedeck_call", default=None)
# Set while a tool runs live, so that functions within it are not asked for again.
_live = contextvars.ContextVar("tapedeck_live", default=False)


class _begin:
    def __init__(self, *args, **kwargs):
        self.call = _Call(*args, **kwargs)

    def __enter__(self):
        self.token = _begun.set(self.call)
        return self.call

    def __exit__(self, *_):
        with contextlib.suppress(ValueError):  # a generator that was left half-way is closed elsewhere, where the variable is another one
            _begun.reset(self.token)


def _arguments(fn, args, kwargs, leave_out):
    """The arguments of a call that did not come through the framework."""
    try:
        bound = inspect.signature(fn).bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = dict(kwargs)
    plain = {}
    for name, value in bound.items():
        if name in leave_out:
            continue
        if isinstance(value, dict) and name == "kwargs":
            plain.update(value)
        else:
            plain[name] = value
    return plain


def stand_in(fn, tool=None, leave_out=("self", "cls", "ctx", "context", "config", "run_manager", "callbacks", "tool_context")):
    """A function with the signature of fn that asks the oracle."""
    if getattr(fn, "__tapedeck__", False) or not callable(fn):
        return fn

    def call(args, kwargs):
        begun = _begun.get()
        if begun is not None:
            return begun
        return _Call(tool or getattr(fn, "__name__", "tool"), _arguments(fn, args, kwargs, leave_out))

    if inspect.iscoroutinefunction(fn):

        @functools.wraps(fn)
        async def instead(*args, **kwargs):
            if _live.get():
                return await fn(*args, **kwargs)
            asked = call(args, kwargs)
            if not asked.live:
                return await asyncio.to_thread(asked.ask)
            _note(live=asked.tool)
            token = _live.set(True)
            try:
                return await fn(*args, **kwargs)
            finally:
                _live.reset(token)
    else:

        @functools.wraps(fn)
        def instead(*args, **kwargs):
            if _live.get():
                return fn(*args, **kwargs)
            asked = call(args, kwargs)
            if not asked.live:
                return asked.ask()
            _note(live=asked.tool)
            token = _live.set(True)
            try:
                return fn(*args, **kwargs)
            finally:
                _live.reset(token)

    instead.__tapedeck__ = True
    return instead


def _replace_in_subclasses(base, names, skip=()):
    """Puts a stand-in in the place of methods that classes derived from base define."""

    def replace(cls):
        for name in names:
            fn = cls.__dict__.get(name)
            if inspect.isfunction(fn) and cls.__name__ not in skip:
                setattr(cls, name, stand_in(fn, cls.__name__))

    before = base.__dict__.get("__init_subclass__")

    def __init_subclass__(cls, **kwargs):
        if before is not None:
            before.__get__(None, cls)(**kwargs)
        else:
            super(base, cls).__init_subclass__(**kwargs)
        replace(cls)

    base.__init_subclass__ = classmethod(__init_subclass__)
    known = list(base.__subclasses__())
    while known:
        cls = known.pop()
        replace(cls)
        known.extend(cls.__subclasses__())


def _around(owner, name, begin):
    """Wraps a method so that begin(self, args, kwargs), which returns a context manager, is entered around it."""
    fn = getattr(owner, name)
    if inspect.isasyncgenfunction(fn):

        @functools.wraps(fn)
        async def around(self, *args, **kwargs):
            with begin(self, args, kwargs):
                async for event in fn(self, *args, **kwargs):
                    yield event
    elif inspect.iscoroutinefunction(fn):

        @functools.wraps(fn)
        async def around(self, *args, **kwargs):
            with begin(self, args, kwargs):
                return await fn(self, *args, **kwargs)
    else:

        @functools.wraps(fn)
        def around(self, *args, **kwargs):
            with begin(self, args, kwargs):
                return fn(self, *args, **kwargs)

    setattr(owner, name, around)


def _argument(args, kwargs, position, name, default=None):
    return kwargs.get(name, args[position] if len(args) > position else default)


# ---- the frameworks ----

def _langchain(module):
    tool, message = module.BaseTool, module.ToolMessage

    def failed(call, err):
        # What is thrown ends a run, unless the agent knows its class.
        if call.call_id is None:
            raise err
        text = err.shown if isinstance(err.shown, str) else json.dumps(err.shown, ensure_ascii=False)
        return message(text, tool_call_id=call.call_id, name=call.tool, status="error")

    def begin(self, args, kwargs):
        # A tool that gives the model one thing and the program another has its content recorded alone.
        paired = self.response_format == "content_and_artifact"
        return _begin(self.name, _argument(args, kwargs, 0, "tool_input", {}), kwargs.get("tool_call_id"), failed, (lambda value: (value, None)) if paired else None)

    _around(tool, "run", begin)
    _around(tool, "arun", begin)
    _replace_in_subclasses(tool, ("_run", "_arun"))


def _openai_agents(module):
    make = module.function_tool

    @functools.wraps(make)
    def function_tool(func=None, **kwargs):
        def wrapped(fn):
            made = make(**kwargs)(stand_in(fn)) if kwargs else make(stand_in(fn))
            made.__dict__["_tapedeck"] = True
            return made

        if func is None:
            return wrapped
        return wrapped(func)

    module.function_tool = function_tool
    invoke = module._invoke_function_tool_with_metadata

    @functools.wraps(invoke)
    async def invoked(*, function_tool, context, arguments):
        if getattr(function_tool, "_is_agent_tool", False):
            return await invoke(function_tool=function_tool, context=context, arguments=arguments)
        with _begin(function_tool.name, arguments or "{}", getattr(context, "tool_call_id", None)) as call:
            hooked = "_tapedeck" in function_tool.__dict__
            if call.live:
                if not hooked:
                    _note(live=call.tool)
                return await invoke(function_tool=function_tool, context=context, arguments=arguments)
            if hooked:
                result = await invoke(function_tool=function_tool, context=context, arguments=arguments)
                if isinstance(call.raised, RecordedToolError):  # what was made of it may be of another error than the recorded one
                    result = dataclasses.replace(result, output=call.raised.shown)
                return result
            try:
                return module._FunctionToolInvocationResult(await asyncio.to_thread(call.ask))
            except OracleMiss:
                raise
            except Exception:  # what such a tool throws the framework tells the model within it
                return module._FunctionToolInvocationResult(call.answer["response"])

    module._invoke_function_tool_with_metadata = invoked


def _pydantic_ai(module):
    from pydantic_ai import exceptions

    toolset = module.FunctionToolset
    run = toolset.call_tool

    @functools.wraps(run)
    async def call_tool(self, name, tool_args, ctx, tool):
        asked = None
        for message in reversed(ctx.messages):
            for part in getattr(message, "parts", ()):
                if getattr(part, "part_kind", "") == "tool-call" and part.tool_call_id == ctx.tool_call_id:
                    asked = part
            if asked is not None:
                break
        call = _Call(asked.tool_name if asked else name, (asked.args or {}) if asked else tool_args, ctx.tool_call_id)
        if call.live:
            _note(live=call.tool)
            return await run(self, name, tool_args, ctx, tool)
        try:
            return await asyncio.to_thread(call.ask)
        except (RecordedToolError, exceptions.ToolRetryError) as err:
            raise exceptions.ModelRetry(str(err)) from err  # what its own error is recorded as, and the one after which a run goes on
        except exceptions.ToolFailedError as err:
            raise exceptions.ToolFailed(str(err)) from err

    toolset.call_tool = call_tool


def _google_adk(module):
    tool = module.FunctionTool
    _around(tool, "run_async", lambda self, args, kwargs: _begin(self.name, kwargs["args"], getattr(kwargs["tool_context"], "function_call_id", None)))
    invoke = tool._invoke_callable

    @functools.wraps(invoke)
    async def _invoke_callable(self, target, args_to_call):
        call = _begun.get()
        if target is not self.func or call is None:
            return await invoke(self, target, args_to_call)
        if call.live:
            _note(live=call.tool)
            return await invoke(self, target, args_to_call)
        try:
            return await asyncio.to_thread(call.ask)
        except RecordedToolError as err:
            return err.shown

    tool._invoke_callable = _invoke_callable
    if hasattr(tool, "_should_run_generator_as_node"):
        by_node = tool._should_run_generator_as_node

        def _should_run_generator_as_node(self, tool_context):
            call = _begun.get()
            return (call is None or call.live) and by_node(self, tool_context)

        tool._should_run_generator_as_node = _should_run_generator_as_node


def _strands(module):
    tool = module.DecoratedFunctionTool
    init = tool.__init__

    @functools.wraps(init)
    def __init__(self, tool_name, tool_spec, tool_func, metadata):
        init(self, tool_name, tool_spec, stand_in(tool_func, tool_name, ("self", "cls", "agent", "tool_context")), metadata)

    tool.__init__ = __init__

    def begin(self, args, kwargs):
        use = _argument(args, kwargs, 0, "tool_use")
        return _begin(use.get("name") or self.tool_name, use.get("input", {}), use.get("toolUseId"))

    _around(tool, "stream", begin)
    wrap = tool._wrap_tool_result

    @functools.wraps(wrap)
    def _wrap_tool_result(self, tool_use_id, result, exception=None):
        if isinstance(exception, RecordedToolError) and isinstance(exception.shown, str):
            result = {**result, "content": [{"text": exception.shown}]}
        return wrap(self, tool_use_id, result, exception)

    tool._wrap_tool_result = _wrap_tool_result


def _crewai(module):
    sanitize = getattr(module, "sanitize_tool_name", lambda name: name)

    def failed(call, err):
        if "error_message" in call.answer:
            raise err
        return err.shown  # the framework would put words of its own around it

    def begin(self, args, kwargs):
        func = self.__dict__.get("func")
        if func is not None:
            self.__dict__["func"] = stand_in(func, self.name)
        if _begun.get() is not None:
            return contextlib.nullcontext()  # run calls _run
        return _begin(sanitize(self.name), _arguments(func or self._run, args, kwargs, ()), failed=failed)

    for cls in (module.BaseTool, module.Tool):
        for name in ("run", "arun") if cls is module.BaseTool else ("run", "arun", "_run", "_arun"):
            if name in cls.__dict__:
                _around(cls, name, begin)
    _replace_in_subclasses(module.BaseTool, ("_run", "_arun"), skip=("Tool",))


def _llamaindex(module):
    tool = module.FunctionTool
    init = tool.__init__

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)
        name = self.metadata.get_name()
        self._fn, self._async_fn = stand_in(self._fn, name), stand_in(self._async_fn, name)

    tool.__init__ = __init__

    def begin(self, args, kwargs):
        if args:
            kwargs = _arguments(self.real_fn, args, kwargs, ())
        return _begin(self.metadata.get_name(), {k: v for k, v in kwargs.items() if k != self.ctx_param_name})

    _around(tool, "call", begin)
    _around(tool, "acall", begin)


# module: (distribution, from version, before version, hook). The versions are those whose sources were read and that are tested, up to the
# next one that may break its interface.
FRAMEWORKS = {
    "langchain_core.tools.base": ("langchain-core", (1, 0), (2, 0), _langchain),
    "agents.tool": ("openai-agents", (0, 24), (0, 25), _openai_agents),
    "pydantic_ai.toolsets.function": (("pydantic-ai-slim", "pydantic-ai"), (2, 68), (3, 0), _pydantic_ai),
    "google.adk.tools.function_tool": ("google-adk", (2, 13), (3, 0), _google_adk),
    "strands.tools.decorator": ("strands-agents", (1, 62), (2, 0), _strands),
    "crewai.tools.base_tool": ("crewai", (1, 15), (2, 0), _crewai),
    "llama_index.core.tools.function_tool": ("llama-index-core", (0, 14), (0, 15), _llamaindex),
}


def _version(distributions):
    for name in (distributions,) if isinstance(distributions, str) else distributions:
        try:
            return name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return distributions if isinstance(distributions, str) else distributions[0], ""


def _hook(module):
    distributions, first, beyond, hook = FRAMEWORKS[module.__name__]
    name, version = _version(distributions)
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    problem = None
    if not first <= numbers < beyond:
        problem = "known from {} to before {}".format(*(".".join(map(str, v)) for v in (first, beyond)))
    else:
        try:
            hook(module)
        except (AttributeError, ImportError, TypeError) as err:
            problem = f"its tools are not called as expected: {err}"
    if problem is None:
        _note(framework=name, version=version, hooked=True)
        return
    _note(framework=name, version=version, hooked=False, problem=problem)
    allowed = {n.strip() for n in os.environ.get("TAPEDECK_PRELOAD_ALLOW", "").split(",")}
    if name not in allowed and "*" not in allowed:
        _end(EX_CONFIG, f"the tools of {name} {version or 'of an unknown version'} cannot be answered from the tape ({problem}); "
                        f"--allow-framework {name} of tapedeck replay lets them run, outside of it TAPEDECK_PRELOAD_ALLOW={name}")


class _Loader:
    """Runs the loader of a module, then the hook."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        _hook(module)


class _Finder:
    def __init__(self):
        self._finding = threading.local()

    def find_spec(self, name, path=None, target=None):
        if name not in FRAMEWORKS or getattr(self._finding, "name", None) == name:
            return None
        self._finding.name = name
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._finding.name = None
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def install():
    if os.environ.get("TAPEDECK_ORACLE_URL") and not any(isinstance(f, _Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
