// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package preload

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironKeepsWhatIsThere(t *testing.T) {
	c := Config{Dir: "/with space/h", OracleURL: "http://127.0.0.1:1", AllowLive: []string{"a", "b"}}
	got := c.Environ([]string{"PATH=/bin", "PYTHONPATH=/mine", "NODE_OPTIONS=--enable-source-maps", "TAPEDECK_ORACLE_TOKEN=of another process"})
	want := []string{
		"PATH=/bin",
		"PYTHONPATH=" + filepath.Join("/with space/h", "python") + string(os.PathListSeparator) + "/mine",
		"NODE_OPTIONS=--import=file:///with%20space/h/node/register.mjs --enable-source-maps",
		"TAPEDECK_ORACLE_URL=http://127.0.0.1:1",
		"TAPEDECK_ALLOW_LIVE=a,b",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestReadReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report")
	if r, err := Read(path); err != nil || len(r.Frameworks) != 0 {
		t.Errorf("no file: %+v, %v", r, err)
	}
	write(t, path, `{"pid":1,"framework":"ai","version":"6.0.1","hooked":true}
{"pid":2,"framework":"ai","version":"6.0.1","hooked":true}

{"pid":1,"live":"search"}
{"pid":1,"live":"search"}
{"pid":3,"framework":"crewai","version":"","hooked":false,"problem":"known from 1.15 to before 2.0"}
`)
	r, err := Read(path)
	want := []Framework{{Name: "ai", Version: "6.0.1", Hooked: true}, {Name: "crewai", Problem: "known from 1.15 to before 2.0"}}
	if err != nil || !slices.Equal(r.Frameworks, want) || r.Live["search"] != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	for name, text := range map[string]string{
		"no JSON": "{\n", "a long line": strings.Repeat("x", 2<<20), "a long file": strings.Repeat(`{"live":"`+strings.Repeat("x", 1000)+`"}`+"\n", maxReport/1000),
	} {
		write(t, path, text)
		if _, err := Read(path); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// program is a language's runtime; tests with it are left out where it is missing.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skip("its preload was not run: ", err)
	}
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestHiddenSitecustomizeRuns: an environment's own sitecustomize, instrumentation for one, is found behind ours.
func TestHiddenSitecustomizeRuns(t *testing.T) {
	python := program(t, "python3")
	own := t.TempDir()
	write(t, filepath.Join(own, "sitecustomize.py"), "print('its own')\n")
	for _, url := range []string{"http://127.0.0.1:1", ""} {
		cmd := exec.CommandContext(t.Context(), python, "-c", "import sitecustomize, json; print(sitecustomize.__file__)")
		cmd.Env = Config{Dir: written(t), OracleURL: url}.Environ(append(os.Environ(), "PYTHONPATH="+own))
		out, err := cmd.CombinedOutput()
		if want := "its own\n" + filepath.Join(own, "sitecustomize.py") + "\n"; err != nil || string(out) != want {
			t.Errorf("%q, %v, want %q", out, err, want)
		}
	}
}

// TestUnknownVersionsAreRefused: a framework of a version that nobody tried ends the process, unless it is allowed to run its tools.
func TestUnknownVersionsAreRefused(t *testing.T) {
	dir := t.TempDir()
	site := filepath.Join(dir, "site")
	write(t, filepath.Join(site, "crewai", "__init__.py"), "")
	write(t, filepath.Join(site, "crewai", "tools", "__init__.py"), "")
	write(t, filepath.Join(site, "crewai", "tools", "base_tool.py"), "class BaseTool: pass\n")
	write(t, filepath.Join(site, "crewai-99.0.dist-info", "METADATA"), "Metadata-Version: 2.1\nName: crewai\nVersion: 99.0\n")
	write(t, filepath.Join(site, "openai_agents-0.24.1.dist-info", "METADATA"), "Metadata-Version: 2.1\nName: openai-agents\nVersion: 0.24.1\n")
	write(t, filepath.Join(site, "agents", "__init__.py"), "")
	write(t, filepath.Join(site, "agents", "tool.py"), "")
	for _, m := range []struct{ name, version, file, source string }{
		{"ai", "99.0.0", "dist/index.mjs", "async function executeToolCall() {}\nexport { executeToolCall };\n"},
		{"@langchain/core", "1.0.0", "dist/tools/index.js", "export class Renamed {}\n"},
	} {
		root := filepath.Join(dir, "node_modules", filepath.FromSlash(m.name))
		write(t, filepath.Join(root, "package.json"), `{"name":"`+m.name+`","version":"`+m.version+`","type":"module","exports":"./`+m.file+`"}`)
		write(t, filepath.Join(root, filepath.FromSlash(m.file)), m.source)
	}
	hooks := written(t)
	for _, c := range []struct{ program, source, allow, version string }{
		{"python3", "import crewai.tools.base_tool; print('ran')", "crewai", "99.0"},
		{"python3", "import agents.tool; print('ran')", "openai-agents", "0.24.1"}, // known, but not what it was
		{"node", "await import('ai'); console.log('ran')", "ai", "99.0.0"},
		{"node", "await import('@langchain/core'); console.log('ran')", "@langchain/core", "1.0.0"},
	} {
		t.Run(c.allow, func(t *testing.T) {
			path := program(t, c.program)
			args := []string{"-c", c.source}
			if c.program == "node" {
				script := filepath.Join(dir, "main.mjs")
				write(t, script, c.source)
				args = []string{script}
			}
			for _, allow := range [][]string{nil, {c.allow}, {Every}} {
				report := filepath.Join(t.TempDir(), "report")
				cmd := exec.CommandContext(t.Context(), path, args...)
				cmd.Env = Config{Dir: hooks, OracleURL: "http://127.0.0.1:1", Allow: allow, Report: report}.Environ(append(os.Environ(), "PYTHONPATH="+site))
				out, err := cmd.CombinedOutput()
				noted, rerr := Read(report)
				if rerr != nil || len(noted.Frameworks) != 1 || noted.Frameworks[0].Hooked || noted.Frameworks[0].Version != c.version || noted.Frameworks[0].Problem == "" {
					t.Errorf("allowed %q: report %+v, %v", allow, noted, rerr)
				}
				var ended *exec.ExitError
				if allow == nil && (!errors.As(err, &ended) || ended.ExitCode() != 78 || !strings.Contains(string(out), "--allow-framework "+c.allow+" of tapedeck replay")) {
					t.Errorf("not allowed: %v, %s", err, out)
				}
				if allow != nil && (err != nil || string(out) != "ran\n") {
					t.Errorf("allowed: %v, %s", err, out)
				}
			}
		})
	}
}

// failures are answers of an oracle to calls of tools that failed, by the name of the tool.
var failures = map[string]string{
	"own":         `{"error_type":"__main__.Unavailable","error_message":"no answer","response":"Error: no answer"}`,
	"builtin":     `{"error_type":"KeyError","error_message":"'sku'","response":"Error: 'sku'"}`,
	"written":     `{"error_type":"NotFound","error_message":"no article 7","response":"Error: no article 7"}`,
	"mcp":         `{"error_type":"mcp.shared.exceptions.McpError","error_message":"timed out","response":"timed out"}`,
	"unloaded":    `{"error_type":"requests.exceptions.Timeout","error_message":"no answer","response":"Error: no answer"}`,
	"shown alone": `{"response":"The tool is not there."}`,
	"type error":  `{"error_type":"TypeError","error_message":"no number","response":"TypeError: no number"}`,
	"no message":  `{"error_type":"TOOL_ERROR","response":"{\"error\":\"no answer\"}","response_format":"json"}`,
}

// failing is an oracle of nothing but failures.
func failing(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ToolName string `json:"tool_name"`
		}
		err := json.NewDecoder(r.Body).Decode(&call)
		answer, known := failures[call.ToolName]
		if err != nil || !known {
			http.Error(w, call.ToolName, http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, `{"hit":true,"is_error":true,"outcome":"recorded_error",`+answer[1:])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// saidOf runs a program that prints a JSON object with what became of each of the failures.
func saidOf(t *testing.T, name string, args ...string) (said map[string][]any) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, name), args...)
	cmd.Env = append(os.Environ(), "TAPEDECK_ORACLE_URL="+failing(t))
	out, err := cmd.CombinedOutput()
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return said
}

// TestARecordedErrorIsOfItsClass: frameworks and agents tell errors apart by their classes, and what they say of them by their texts. An error whose class
// cannot be made again says what the model was shown.
func TestARecordedErrorIsOfItsClass(t *testing.T) {
	script := filepath.Join(t.TempDir(), "main.py")
	write(t, script, `import json, sys, types
sys.path.insert(0, sys.argv[1])
import tapedeck_preload as hooks

class Unavailable(LookupError):
    def __init__(self, sku, milliseconds): super().__init__(f"no answer about {sku}")
class NotFound(Exception):
    def __init__(self, sku): super().__init__(f"no article {sku}")
class McpError(Exception):
    def __init__(self, error): self.error = error; super().__init__(error.message)
sys.modules["mcp"], sys.modules["mcp.types"] = types.ModuleType("mcp"), types.ModuleType("mcp.types")
sys.modules["mcp.types"].INTERNAL_ERROR = -32603
sys.modules["mcp.types"].ErrorData = lambda code, message: types.SimpleNamespace(code=code, message=message)
said = {}
for tool in json.loads(sys.argv[2]):
    try:
        hooks._Call(tool, {}).ask()
    except Exception as err:
        made = isinstance(err, hooks.RecordedToolError)
        said[tool] = [type(err).__module__ + "." + type(err).__qualname__, str(err), isinstance(err, LookupError), err.shown if made else None]
said["mcp"].append(hooks._recorded({"error_type": "McpError", "error_message": "m", "response": "r"}).error.message)
print(json.dumps(said))
`)
	names, err := json.Marshal(slices.Sorted(maps.Keys(failures)))
	if err != nil {
		t.Fatal(err)
	}
	got := saidOf(t, "python3", script, filepath.Join(written(t), "python"), string(names))
	want := map[string][]any{
		"own":         {"__main__.Unavailable", "no answer", true, nil}, // its constructor wants two values
		"builtin":     {"builtins.KeyError", "'sku'", true, nil},        // it writes quotes around what it is given
		"written":     {"__main__.NotFound", "no article 7", false, nil},
		"mcp":         {"__main__.McpError", "timed out", false, nil, "m"},
		"unloaded":    {"requests.exceptions.Timeout", "no answer", false, "Error: no answer"},
		"type error":  {"builtins.TypeError", "no number", false, nil},
		"shown alone": {"tapedeck_preload.RecordedToolError", "The tool is not there.", false, "The tool is not there."},
		"no message":  {"builtins.TOOL_ERROR", `{"error":"no answer"}`, false, map[string]any{"error": "no answer"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestARecordedErrorInNode: it has the name and the message of the recorded one, and is of its class where the language has that. Where they are not known the
// model is shown what it was shown.
func TestARecordedErrorInNode(t *testing.T) {
	script := filepath.Join(t.TempDir(), "main.cjs")
	write(t, script, `require(process.argv[2]).install();
const { langchain, openaiAgents } = globalThis[Symbol.for("tapedeck.preload")];
class StructuredTool { async call(arg) { return this._call(arg.args); } }
class ToolMessage { constructor(fields) { Object.assign(this, fields); } }
langchain({ StructuredTool, ToolMessage });
const agents = { tool: (options) => ({ name: options.name, invoke: async (input, details) => {
  try { return await options.execute(input, {}, details); } catch (err) { return options.errorFunction({}, err, details); }
} }) };
openaiAgents(agents);
(async () => {
  const said = {};
  for (const name of JSON.parse(process.argv[3])) {
    const call = { id: "1", callId: "1", type: "tool_call", name, args: {} };
    const stock = Object.assign(new StructuredTool(), { name });
    const by = await stock.call(call).then((m) => m.status + ": " + m.content, (err) => err.constructor.name + ", " + err);
    const told = await agents.tool({ name, execute: async () => "", errorFunction: (context, err) => "told: " + err }).invoke({}, { toolCall: call });
    said[name] = [by, told];
  }
  console.log(JSON.stringify(said));
})();
`)
	names, err := json.Marshal(slices.Sorted(maps.Keys(failures)))
	if err != nil {
		t.Fatal(err)
	}
	got := saidOf(t, "node", script, filepath.Join(written(t), "node", "frameworks.cjs"), string(names))
	want := map[string][]any{
		"own":         {"Error, Unavailable: no answer", "Error: no answer"},
		"builtin":     {"Error, KeyError: 'sku'", "Error: 'sku'"},
		"written":     {"Error, NotFound: no article 7", "Error: no article 7"},
		"mcp":         {"Error, McpError: timed out", "timed out"},
		"unloaded":    {"Error, Timeout: no answer", "Error: no answer"},
		"shown alone": {"error: The tool is not there.", "The tool is not there."},
		"no message":  {`error: {"error":"no answer"}`, `{"error":"no answer"}`},
		"type error":  {"TypeError, TypeError: no number", "told: TypeError: no number"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAToolOfMastraMayBeNamedLikeAnAgent: Mastra calls the tool behind which an agent stands agent-NAME, and tells of every other tool whether it has
// to be approved. What asks the oracle, which is not there, ends the process.
func TestAToolOfMastraMayBeNamedLikeAnAgent(t *testing.T) {
	node, hooks := program(t, "node"), written(t)
	script := filepath.Join(t.TempDir(), "main.cjs")
	write(t, script, `require(process.argv[2]).install();
class CoreToolBuilder { createExecute(tool, options) { return (args) => tool.execute({ context: args }, {}); } }
globalThis[Symbol.for("tapedeck.preload")].mastra({ CoreToolBuilder });
const tool = { id: "a", execute: async () => console.log("ran") };
new CoreToolBuilder().createExecute(tool, JSON.parse(process.argv[3]))({});
`)
	for options, asks := range map[string]bool{
		`{"name":"agent-stock","requireApproval":false}`: true, `{"name":"workflow-stock","requireApproval":true}`: true, `{"name":"stock","requireApproval":false}`: true, `{"name":"stock"}`: true,
		`{"name":"agent-stock"}`: false, `{"name":"workflow-stock"}`: false,
	} {
		cmd := exec.CommandContext(t.Context(), node, script, filepath.Join(hooks, "node", "frameworks.cjs"), options)
		cmd.Env = append(os.Environ(), "TAPEDECK_ORACLE_URL=http://127.0.0.1:1")
		out, err := cmd.CombinedOutput()
		if asked := err != nil && strings.Contains(string(out), "the oracle cannot be asked for"); asked != asks || !asks && string(out) != "ran\n" {
			t.Errorf("%s: %v, %s", options, err, out)
		}
	}
}

// TestDocumentedFrameworks: the table of docs/replay.md says what the hooks know.
func TestDocumentedFrameworks(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "replay.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "<!-- frameworks, checked by a test -->\n")
	table, _, _ := strings.Cut(rest, "\n\n")
	var said []string
	for _, row := range regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| ([0-9.]+) to before ([0-9.]+) \\|").FindAllStringSubmatch(table, -1) {
		said = append(said, strings.Join(row[1:], " "))
	}
	var known []string
	for file, form := range map[string]string{
		"python/tapedeck_preload.py": `(?m)^    "[\w.]+": \(\(?"([\w-]+)"[^(\n]*\((\d+), (\d+)\), \((\d+), (\d+)\)`,
		"node/frameworks.cjs":        `(?m)^  "?([@\w/-]+)"?: \[\[(\d+), (\d+)\], \[(\d+), (\d+)\]\]`,
	} {
		source, err := hooks.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(form).FindAllStringSubmatch(string(source), -1) {
			known = append(known, m[1]+" "+m[2]+"."+m[3]+" "+m[4]+"."+m[5])
		}
	}
	slices.Sort(said)
	slices.Sort(known)
	if len(known) != 11 || !slices.Equal(said, known) {
		t.Errorf("docs/replay.md says\n%s\nthe hooks know\n%s", strings.Join(said, "\n"), strings.Join(known, "\n"))
	}
}
