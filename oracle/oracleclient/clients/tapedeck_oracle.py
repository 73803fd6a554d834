# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded answers for the tool calls of a replay. One file, the standard library alone: copy it beside your agent.

    oracle = tapedeck_oracle.from_env()          # None outside of a replay

    def get_stock(sku):
        if oracle:
            return oracle.call("get_stock", {"sku": sku})
        ...

The protocol is docs/oracle.md.
"""

import itertools
import json
import os
import urllib.error
import urllib.request


class Miss(Exception):
    """There is no recorded answer. The tool must not be run instead, unless live is true."""

    def __init__(self, tool, outcome, reason):
        super().__init__(f"no recorded answer for {tool}: {reason}")
        self.tool, self.outcome, self.reason = tool, outcome, reason
        self.live = outcome == "live"


class RecordedError(Exception):
    """The recorded call had failed with this text. shown is what the model was shown of it."""

    def __init__(self, message, shown):
        super().__init__(message)
        self.shown = shown


class Broken(Exception):
    """The oracle could not do its work: the replay has to end, and nothing is to be counted as a miss."""


class Oracle:
    def __init__(self, url, replay_run_id, run=None, token=None, timeout=60.0):
        """url is the address of the oracle, with ?run=ID where it serves several runs and run names none."""
        at, named, query = url.partition("?")
        self._endpoint = at.rstrip("/") + "/v1/tool-calls" + named + query
        self.url, self.replay_run_id, self.run, self.token, self.timeout = url, replay_run_id, run, token, timeout
        self._calls = itertools.count(1)
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call(self, tool, args, tool_call_id=None, caller=None):
        """Return the recorded response as text. args is a value, or the text as the model wrote it."""
        body = {"replay_run_id": self.replay_run_id, "tool_name": tool}
        body["args_raw"] = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
        if self.run:
            body["run"] = self.run
        if caller is not None:
            body["caller"] = caller
        if tool_call_id:
            body["tool_call_id"] = tool_call_id
        else:
            body["call_index"] = next(self._calls)  # a request that is sent again is the same call
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        request = urllib.request.Request(self._endpoint, json.dumps(body).encode(), headers)
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                answer = json.loads(response.read())
        except urllib.error.HTTPError as err:
            raise Broken(f"{err.code}: {err.read().decode(errors='replace')}") from err
        except (OSError, ValueError) as err:
            raise Broken(str(err)) from err
        if not answer["hit"]:
            raise Miss(tool, answer["outcome"], answer["reason"])
        if answer["is_error"]:
            raise RecordedError(answer.get("error_message") or answer["response"], answer["response"])
        return answer["response"]


def from_env():
    """Return the oracle of the replay in which this process runs, or None."""
    url = os.environ.get("TAPEDECK_ORACLE_URL")
    if not url:
        return None
    return Oracle(url, os.environ.get("TAPEDECK_REPLAY_RUN_ID", ""), token=os.environ.get("TAPEDECK_ORACLE_TOKEN"))
