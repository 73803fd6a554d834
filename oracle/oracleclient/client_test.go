// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracleclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oracleclient"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const token = "0123456789abcdef"

// served is an oracle with two different answers to one call, a failed call, and a tool that may go live.
func served(t *testing.T) string {
	t.Helper()
	args := exactjson.ObjectValue(exactjson.Member{Name: "sku", Value: exactjson.StringValue("SKU-7 ☕")})
	entry := func(tool, response string, failed bool) oracle.Entry {
		return oracle.Entry{ToolName: tool, Args: args, ArgsHash: oracle.Hash(args), Response: response, IsError: failed, ArgsFidelity: oracle.Exact, ResponseFidelity: oracle.Exact}
	}
	rules := &oracle.Rules{Tools: map[string]oracle.ToolRule{"clock": {Mode: oracle.ModeLive}}}
	mail := entry("mail", "Error: no such address", true)
	mail.ErrorType, mail.ErrorMessage = "MailError", "no such address"
	o, err := oracle.New([]oracle.Entry{entry("count", "seven", false), entry("count", "six", false), mail}, oracle.Options{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(oraclehttp.NewHandler(oraclehttp.Config{Library: oraclehttp.Single("run", o), Token: token}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestTheClientInGo(t *testing.T) {
	url := served(t)
	if oracleclient.FromEnv() != nil {
		t.Error("a client outside of a replay")
	}
	t.Setenv("TAPEDECK_ORACLE_URL", url)
	t.Setenv("TAPEDECK_REPLAY_RUN_ID", "go")
	t.Setenv("TAPEDECK_ORACLE_TOKEN", token)
	c := oracleclient.FromEnv()
	args := json.RawMessage(`{ "sku": "SKU-7 ☕" }`)
	for _, want := range []string{"seven", "six"} {
		if got, err := c.Execute(t.Context(), "count", args); err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	var miss *oracleclient.Miss
	if _, err := c.Execute(t.Context(), "count", args); !errors.As(err, &miss) || miss.Outcome != "exhausted" || miss.Live() {
		t.Errorf("%v", err)
	}
	if _, err := c.Execute(t.Context(), "clock", nil); !errors.As(err, &miss) || !miss.Live() {
		t.Errorf("%v", err)
	}
	if _, err := c.Execute(t.Context(), "mail", args); err == nil || err.Error() != "no such address" {
		t.Errorf("%v", err)
	}
	c.ReplayRunID = "failed"
	if got, err := c.Call(t.Context(), oracleclient.Call{Tool: "mail", Args: args}); err != nil || !got.IsError || got.Response != "Error: no such address" || got.ErrorType != "MailError" || got.ErrorMessage != "no such address" {
		t.Errorf("%+v, %v", got, err)
	}
	again := oracleclient.Client{URL: url + "/?run=run", ReplayRunID: "again", Token: token}
	for range 2 {
		if got, err := again.Call(t.Context(), oracleclient.Call{Tool: "count", Args: args, ID: "call_1"}); err != nil || got.Response != "seven" {
			t.Errorf("the same call again: %+v, %v", got, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]*oracleclient.Client{"no token": {URL: url, ReplayRunID: "x"}, "no such run": {URL: url + "?run=other", ReplayRunID: "x", Token: token}, "nobody there": {URL: "http://127.0.0.1:1", ReplayRunID: "x"}} {
		if _, err := c.Call(t.Context(), oracleclient.Call{Tool: "count", Args: args}); !errors.Is(err, oracleclient.ErrBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Call(ended, oracleclient.Call{Tool: "count", Args: args}); !errors.Is(err, oracleclient.ErrBroken) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// asking calls the oracle as TestTheClientInGo does, and prints a word for each answer.
var asking = map[string]string{
	"python3": `
import tapedeck_oracle as t
o = t.from_env()
def ask(tool, args):
    try: print(o.call(tool, args))
    except t.RecordedError as e: print("error:", e, "shown:", e.shown)
    except t.Miss as e: print(e.outcome, e.live)
    except t.Broken as e: print("broken")
for tool in ["count", "count", "count", "clock", "mail"]: ask(tool, {"sku": "SKU-7 ☕"})
o = t.Oracle(o.url + "/?run=run", "again", token=o.token)
print(o.call("count", '{"sku":"SKU-7 ☕"}', tool_call_id="call_1"), o.call("count", '{"sku":"SKU-7 ☕"}', tool_call_id="call_1"))
o.token = None
ask("count", {})
`,
	"node": `
import * as t from "./tapedeck_oracle.mjs";
let o = t.fromEnv();
async function ask(tool, args) {
  try { console.log(await o.call(tool, args)); } catch (e) {
    if (e instanceof t.RecordedError) console.log("error:", e.message, "shown:", e.shown);
    else if (e instanceof t.Miss) console.log(e.outcome, e.live ? "True" : "False");
    else if (e instanceof t.Broken) console.log("broken");
    else throw e;
  }
}
for (const tool of ["count", "count", "count", "clock", "mail"]) await ask(tool, { sku: "SKU-7 ☕" });
o = new t.Oracle({ url: o.url + "/?run=run", replayRunId: "again", token: o.token });
const again = () => o.call("count", '{"sku":"SKU-7 ☕"}', { toolCallId: "call_1" });
console.log(await again(), await again());
o.token = undefined;
await ask("count", {});
`,
}

func TestTheClientsInOtherLanguages(t *testing.T) {
	const want = "seven\nsix\nexhausted False\nlive True\nerror: no such address shown: Error: no such address\nseven seven\nbroken\n"
	folder, err := filepath.Abs("clients")
	if err != nil {
		t.Fatal(err)
	}
	for program, script := range asking {
		t.Run(program, func(t *testing.T) {
			path, err := exec.LookPath(program)
			if err != nil {
				if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
					t.Fatal(err)
				}
				t.Skip("its client was not run: ", err)
			}
			args := []string{"-B", "-"}
			if program == "node" {
				args = []string{"--input-type=module", "-"}
			}
			cmd := exec.CommandContext(t.Context(), path, args...)
			cmd.Dir, cmd.Stdin = folder, strings.NewReader(script)
			cmd.Env = append(cmd.Environ(), "PYTHONPATH="+folder, "PYTHONIOENCODING=utf-8", "TAPEDECK_ORACLE_URL="+served(t), "TAPEDECK_REPLAY_RUN_ID=other", "TAPEDECK_ORACLE_TOKEN="+token)
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != want {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}
