// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/converter/pipelinecheckconverter"
	"github.com/tapedeck/tapedeck/internal/evaluation/suite"
	"github.com/tapedeck/tapedeck/internal/testbed/otlpsend"
	"github.com/tapedeck/tapedeck/oracle/rulefile"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/otelcol"
)

// Every block of YAML and shell in the documents is used here as far as it can be without more than Go: configurations are validated by this collector, manifests
// compared with the repository, rules read by the reader of their kind, commands looked up in the help of the program. A block that is none of
// that says so in the line above it: <!-- not checked here: why -->.

const repository = "../.."

// block is one fenced block of a document.
type block struct {
	where, kind, text string
	unchecked         bool
}

var fence = regexp.MustCompile("(?ms)^(<!-- not checked here: [^\n]+ -->\n)?```(yaml|sh|shell|bash|console)\n(.*?)^```$")

func documents(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "*/*/README.md", "examples/README.md"} {
		found, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 20 {
		t.Fatalf("only %d documents", len(files))
	}
	return files
}

func blocks(t *testing.T, kinds ...string) (all []block) {
	t.Helper()
	for _, file := range documents(t) {
		text := read(t, file)
		for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
			b := block{
				where:     fmt.Sprintf("%s:%d", strings.TrimPrefix(file, repository+"/"), 1+strings.Count(text[:m[4]], "\n")),
				kind:      text[m[4]:m[5]],
				text:      text[m[6]:m[7]],
				unchecked: m[2] >= 0,
			}
			if slices.Contains(kinds, b.kind) {
				all = append(all, b)
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("no blocks")
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func parse(t *testing.T, text string) (map[string]any, error) {
	t.Helper()
	r, err := confmap.NewRetrievedFromYAML([]byte(text))
	if err != nil {
		return nil, err
	}
	v, err := r.AsRaw()
	m, _ := v.(map[string]any)
	return m, err
}

func settings(texts ...string) otelcol.CollectorSettings {
	var uris []string
	for _, text := range texts {
		uris = append(uris, "yaml:"+text)
	}
	return otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol-tapedeck", Version: version},
		Factories: components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:               uris,
			ProviderFactories:  []confmap.ProviderFactory{envprovider.NewFactory(), fileprovider.NewFactory(), yamlprovider.NewFactory()},
			ConverterFactories: []confmap.ConverterFactory{pipelinecheckconverter.NewFactory()},
			DefaultScheme:      "env",
		}},
	}
}

// around is what the documents take for granted: each component that a block may name without defining it.
var around = map[string]map[string]string{
	"receivers":  {"otlp": "{protocols: {grpc: {endpoint: 127.0.0.1:0}}}"},
	"processors": {"agentredaction": "{key: {env: TAPEDECK_REDACTION_KEY}}", "agentrun": "{}"},
	"connectors": {"genailogs": "{}"},
	"exporters":  {"tape": `{deck: "mem://documents"}`, "otlp_grpc": "{endpoint: 127.0.0.1:1}", "debug": "{}"},
}

// complete defines what a configuration names in its pipelines and does not define, and gives it a pipeline when it has none.
func complete(conf map[string]any) (extra string) {
	missing := map[string]map[string]bool{"receivers": {}, "processors": {}, "connectors": {}, "exporters": {}}
	defined := func(section, id string) bool {
		m, _ := conf[section].(map[string]any)
		_, ok := m[id]
		return ok
	}
	service, _ := conf["service"].(map[string]any)
	pipelines, _ := service["pipelines"].(map[string]any)
	for _, p := range pipelines {
		m, _ := p.(map[string]any)
		for section, v := range m {
			list, _ := v.([]any)
			for _, e := range list {
				id := fmt.Sprint(e)
				kind, _, _ := strings.Cut(id, "/")
				at := section
				if _, ok := around["connectors"][kind]; ok || defined("connectors", id) {
					at = "connectors"
				}
				if !defined(at, id) {
					missing[at][id] = true
				}
			}
		}
	}
	if len(pipelines) == 0 {
		extra = "service: {pipelines: {traces/documents: {receivers: [otlp], exporters: [debug]}}}\n"
		missing["receivers"]["otlp"], missing["exporters"]["debug"] = true, true
	}
	for section, ids := range missing {
		for id := range ids {
			kind, _, _ := strings.Cut(id, "/")
			extra += fmt.Sprintf("%s::%s: %s\n", section, id, around[section][kind])
		}
	}
	return extra
}

// The program says of its own components that they have its version, and so does every other list of it.
func TestComponentsHaveTheVersionOfTheProgram(t *testing.T) {
	all, err := components()
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for kind, modules := range map[string]map[component.Type]string{
		"extensions": all.ExtensionModules, "receivers": all.ReceiverModules, "processors": all.ProcessorModules, "exporters": all.ExporterModules, "connectors": all.ConnectorModules,
	} {
		for name, module := range modules {
			if path, v, _ := strings.Cut(module, " "); path == "github.com/tapedeck/tapedeck" {
				if ours++; v != "v"+version {
					t.Errorf("%s %s: %s, the program is %s", kind, name, v, version)
				}
			}
		}
	}
	if ours < 5 {
		t.Errorf("%d components of our own", ours)
	}
}

func TestConfigurationsAndRulesOfTheDocumentsAreValid(t *testing.T) {
	key := filepath.Join(t.TempDir(), "redaction.key")
	const random = "0123456789abcdefghijklmnopqrstuvwxyz"
	if err := os.WriteFile(key, []byte(random), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TAPEDECK_REDACTION_KEY", random)
	texts := blocks(t, "yaml")
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "corp.yaml"), []byte("secret_keys: [x]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(work) // for files that a block names
	for _, b := range texts {
		t.Run(b.where, func(t *testing.T) {
			conf, err := parse(t, b.text)
			if err != nil {
				t.Fatal(err)
			}
			has := func(name string) bool { _, ok := conf[name]; return ok }
			switch {
			case b.unchecked:
			case strings.Contains(b.text, "gomod:"):
				checkManifest(t, root, conf)
			case has("groups"): // alerts: internal/testbed/examplestest has the parser of Prometheus
			case has("service"), has("exporters"), has("processors"), has("extensions"):
				checkConfiguration(t, strings.ReplaceAll(b.text, "/etc/tapedeck/redaction.key", key), conf)
			case has("agentredaction"):
				text := "processors:\n  agentredaction/documents: {key: {env: TAPEDECK_REDACTION_KEY}}\n" + indent(b.text)
				conf, err := parse(t, text)
				if err != nil {
					t.Fatal(err)
				}
				checkConfiguration(t, text+"processors::agentredaction::key::env: TAPEDECK_REDACTION_KEY\n", conf)
			case has("calls"):
				if _, err := suite.Read([]byte(b.text)); err != nil {
					t.Error(err)
				}
			case has("rules"), has("tools"):
				if _, err := rulefile.Read([]byte(b.text)); err != nil {
					t.Error(err)
				}
			default:
				t.Error("nothing here knows what this is: check it, or say above it why not (<!-- not checked here: … -->)")
			}
		})
	}
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

func checkConfiguration(t *testing.T, text string, conf map[string]any) {
	t.Helper()
	col, err := otelcol.NewCollector(settings(text, complete(conf)))
	if err != nil {
		t.Fatal(err)
	}
	if err := col.DryRun(t.Context()); err != nil {
		t.Error(err)
	}
}

// checkManifest compares what a builder manifest asks for with what there is. As long as there is no release, it has to name a clone.
func checkManifest(t *testing.T, root string, conf map[string]any) {
	t.Helper()
	n := 0
	for section, v := range conf {
		list, _ := v.([]any)
		for _, e := range list {
			m, _ := e.(map[string]any)
			n++
			if m["gomod"] != "github.com/tapedeck/tapedeck v0.0.0" || m["path"] == nil {
				t.Errorf("%s: %v is not taken from a clone", section, m)
			}
			folder, ours := strings.CutPrefix(fmt.Sprint(m["import"]), "github.com/tapedeck/tapedeck/")
			if files, _ := filepath.Glob(filepath.Join(root, folder, "*.go")); !ours || len(files) == 0 {
				t.Errorf("%s: there is no package %v", section, m["import"])
			}
		}
	}
	if n == 0 {
		t.Error("no modules")
	}
}

// commandLine builds the command line.
func commandLine(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "tapedeck")
	build := exec.Command("go", "build", "-o", program, "./cmd/tapedeck")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// The tour of the platform engineer needs the collector as a program: e2e runs it.
func TestToursOfTheCommandLineEndWell(t *testing.T) {
	for _, name := range []string{"sh", "curl", "sed", "grep"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	program := commandLine(t)
	for _, tour := range []string{"developer", "eval"} {
		t.Run(tour, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(repository, "examples", "tours", tour+".sh"))
			cmd.Env = append(os.Environ(), "TOUR="+t.TempDir(), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"), "ORACLE_LISTEN=127.0.0.1:"+freePorts(t, 1)[0])
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

var (
	metricName = regexp.MustCompile(`\b(otelcol_[a-z_]+|(?:rpc|http)_server_[a-z_]+)\b`)
	pageLine   = regexp.MustCompile(`(?m)^([a-z_]+)[ {]`)
	ownMetric  = regexp.MustCompile(`^otelcol_(processor_agent|processor_replaytag|exporter_tape|exporter_audit_nats|receiver_tape|connector_|extension_oracle)`)
)

// TestMetricsOfTheDocumentsAreOnThePage starts this collector with the example for one machine, sends it a run and a request that is too large, and reads its metrics
// page. What the documents, the alerts and the dashboard name has to be on it. Of our components a counter that has not counted yet is not on any page: for those
// their own documentation counts, by the names that the page has shown to be exactly the documented ones.
func TestMetricsOfTheDocumentsAreOnThePage(t *testing.T) {
	dir := t.TempDir()
	ports := freePorts(t, 4)
	for i, name := range []string{"OTLP_GRPC_ENDPOINT", "OTLP_HTTP_ENDPOINT", "HEALTH_ENDPOINT"} {
		t.Setenv(name, "127.0.0.1:"+ports[i])
	}
	t.Setenv("METRICS_PORT", ports[3])
	t.Setenv("TAPEDECK_DECK", "file://"+filepath.ToSlash(dir)+"/deck")
	t.Setenv("TAPEDECK_SPOOL", filepath.Join(dir, "spool"))
	t.Setenv("TAPEDECK_STATE", filepath.Join(dir, "state"))
	set := settings("processors::agentrun::quiet_period: 1ms\n")
	resolver := &set.ConfigProviderSettings.ResolverSettings
	resolver.URIs = append([]string{"file:" + repository + "/examples/local/collector.yaml"}, resolver.URIs...)
	col, err := otelcol.NewCollector(set)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- col.Run(t.Context()) }()
	defer func() {
		col.Shutdown()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	await(t, ended, func() bool { _, err := fetch("http://127.0.0.1:" + ports[2]); return err == nil })

	td, err := otlpsend.ReadFile(filepath.Join(repository, demo(t)))
	if err != nil {
		t.Fatal(err)
	}
	if err := otlpsend.HTTP(t.Context(), "http://127.0.0.1:"+ports[1], td); err != nil {
		t.Fatal(err)
	}
	// Larger than the receiver of the example takes; the answer may be cut off.
	if answer, err := http.Post("http://127.0.0.1:"+ports[1]+"/v1/traces", "application/json", io.LimitReader(spaces{}, 49<<20)); err == nil {
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("a request of 49 MiB: %s", answer.Status)
		}
	}
	var page string
	await(t, ended, func() bool {
		page, err = fetch("http://127.0.0.1:" + ports[3] + "/metrics")
		return err == nil && strings.Contains(page, "otelcol_exporter_tape_written_runs{") && strings.Contains(page, `http_response_status_code="400"`)
	})
	known := map[string]bool{}
	for _, m := range pageLine.FindAllStringSubmatch(page, -1) {
		known[m[1]] = true
	}
	documented := documentedMetrics(t)
	shown := 0
	for name := range known {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")
		if !ownMetric.MatchString(name) {
			continue
		}
		if shown++; !documented[name] && !documented[base] {
			t.Errorf("the page has %s, which its component does not document by this name", name)
		}
	}
	if shown < 20 {
		t.Errorf("the page has %d metrics of our components", shown)
	}
	known["rpc_server_call_duration_count"] = true // as that of HTTP, for a request over gRPC; the receiver of the example is asked over HTTP here
	named := 0
	files, err := filepath.Glob(repository + "/examples/grafana/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(documents(t), files...) {
		for _, name := range metricName.FindAllString(read(t, file), -1) {
			base := strings.TrimSuffix(name, "_bucket")
			if named++; !known[name] && !documented[base] {
				t.Errorf("%s names %s, which no page has", strings.TrimPrefix(file, repository+"/"), name)
			}
		}
	}
	if named < 40 {
		t.Errorf("only %d names were found", named)
	}
}

// spaces is a body without end that is no OTLP.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

var documentedName = regexp.MustCompile(`(?m)^### (otelcol_[a-z_]+)$`)

func documentedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, "*", "*", "documentation.md"))
	if err != nil || len(files) == 0 {
		t.Fatal("no documentation", err)
	}
	names := map[string]bool{}
	for _, file := range files {
		for _, m := range documentedName.FindAllStringSubmatch(read(t, file), -1) {
			names[m[1]] = true
		}
	}
	return names
}

// demo is a recorded run of the corpus.
func demo(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`"(testdata/[^"]+)"`).FindStringSubmatch(read(t, filepath.Join(repository, "internal/testbed/cmd/demo/main.go")))
	if m == nil {
		t.Fatal("the demo names no recording")
	}
	return m[1]
}

func freePorts(t *testing.T, n int) (ports []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
	}
	return ports
}

func fetch(url string) (string, error) {
	answer, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", answer.Status)
	}
	return string(body), err
}

// await asks until it is so, or the collector has ended. The minutes bound a failure, not a machine that is slow.
func await(t *testing.T, ended chan error, so func() bool) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case err := <-ended:
			ended <- err
			t.Fatal("the collector ended:", err)
		case <-limit:
			t.Fatal("waited in vain")
		case <-tick.C:
		}
	}
}
