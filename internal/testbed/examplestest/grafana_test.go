// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package examplestest

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

const root = "../../.."

// ofTheCollector are metrics that no component of this project defines.
var ofTheCollector = []string{"otelcol_process_memory_rss", "rpc_server_call_duration_count", "http_server_request_duration_count"}

// documented is every metric of our components, by the name that the collector exposes.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "metadata.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no components: %v", err)
	}
	names := map[string]bool{}
	for _, file := range files {
		var metadata struct {
			Telemetry struct {
				Metrics map[string]struct {
					Histogram map[string]any `yaml:"histogram"`
				} `yaml:"metrics"`
			} `yaml:"telemetry"`
		}
		if err := yaml.Unmarshal(read(t, file), &metadata); err != nil {
			t.Fatal(err)
		}
		for name, m := range metadata.Telemetry.Metrics {
			if m.Histogram != nil {
				name += "_bucket"
			}
			names["otelcol_"+name] = true
		}
	}
	for _, name := range ofTheCollector {
		names[name] = true
	}
	return names
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// check parses an expression and returns the metrics in it.
func check(t *testing.T, where, expr string, known map[string]bool) (names []string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v in %s", where, err, expr)
		return nil
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok {
			if !known[v.Name] {
				t.Errorf("%s asks for %q, which no component documents", where, v.Name)
			}
			names = append(names, v.Name)
		}
		return nil
	})
	return names
}

// dashboard is what the test needs of Grafana's model.
type dashboard struct {
	Title         string `json:"title"`
	UID           string `json:"uid"`
	SchemaVersion int    `json:"schemaVersion"`
	Templating    struct {
		List []struct {
			Name       string `json:"name"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct {
		H, W, X, Y int
	} `json:"gridPos"`
	Targets []struct {
		RefID      string            `json:"refId"`
		Expr       string            `json:"expr"`
		Datasource map[string]string `json:"datasource"`
	} `json:"targets"`
}

// dashboards are the files, and the metrics that each has to show, by the beginning of their names.
var dashboards = map[string]string{
	"tapedeck.json": "otelcol_processor_agentrun_",
	"replays.json":  "otelcol_connector_replaysplit_",
}

func TestDashboardsShowMetricsThatExist(t *testing.T) {
	for file, shows := range dashboards {
		t.Run(file, func(t *testing.T) { checkDashboard(t, file, shows) })
	}
}

func checkDashboard(t *testing.T, file, shows string) {
	var d dashboard
	if err := json.Unmarshal(read(t, filepath.Join(root, "examples/grafana", file)), &d); err != nil {
		t.Fatal(err)
	}
	const oldest = 36 // of Grafana 10
	if d.Title == "" || d.UID == "" || d.SchemaVersion < oldest {
		t.Errorf("title %q, uid %q, schema %d", d.Title, d.UID, d.SchemaVersion)
	}
	known, shown := documented(t), map[string]bool{}
	variables := map[string]bool{}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
		if m := regexp.MustCompile(`^label_values\((\w+), \w+\)$`).FindStringSubmatch(v.Definition); v.Definition != "" && (m == nil || !known[m[1]]) {
			t.Errorf("variable %s: %s", v.Name, v.Definition)
		}
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("panel %q has the id of another", p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, ok := cells[[2]int{x, y}]; ok || x >= 24 {
					t.Fatalf("panel %q lies over %q or beyond the edge", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("panel %q of type %s has %d queries", p.Title, p.Type, len(p.Targets))
		}
		for _, name := range checkQueries(t, p, known) {
			shown[name] = true
		}
	}
	if !variables["datasource"] || !variables["instance"] {
		t.Errorf("variables: %v", variables)
	}
	// Those that say something only to who looks for them.
	rare := []string{
		"otelcol_processor_agentrun_release_errors", "otelcol_processor_agentrun_spool_segments", "otelcol_processor_agentrun_stripped_attributes",
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if strings.HasPrefix(name, shows) && !shown[name] && !slices.Contains(rare, name) {
			t.Errorf("%s is not on the dashboard", name)
		}
	}
}

// checkQueries returns the metrics that a panel asks for.
func checkQueries(t *testing.T, p panel, known map[string]bool) (names []string) {
	t.Helper()
	// What Grafana puts in before Prometheus sees the query.
	variables := strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h", "$instance", ".*")
	for _, target := range p.Targets {
		if target.Datasource["uid"] != "${datasource}" || target.RefID == "" {
			t.Errorf("panel %q, query %q: data source %v", p.Title, target.RefID, target.Datasource)
		}
		names = append(names, check(t, p.Title, variables.Replace(target.Expr), known)...)
	}
	return names
}

// alerts are the files of rules, and the page that says what to do about each of them.
var alerts = map[string]string{
	"alerts.yaml":        "docs/operations.md",
	"replay-alerts.yaml": "docs/segregation.md",
}

// TestAlertsAreValidAndDescribed is what `promtool check rules` does, and more: the metrics exist, and a
// table of the manual has a row for each.
func TestAlertsAreValidAndDescribed(t *testing.T) {
	for file, page := range alerts {
		t.Run(file, func(t *testing.T) { checkAlerts(t, file, page) })
	}
}

func checkAlerts(t *testing.T, file, page string) {
	groups, errs := rulefmt.ParseFile(filepath.Join(root, "examples/grafana", file), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		t.FailNow()
	}
	known, described := documented(t), map[string]bool{}
	_, table, _ := strings.Cut(string(read(t, filepath.Join(root, page))), "\n| alert |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\|").FindAllStringSubmatch(table, -1) {
		described[m[1]] = true
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			check(t, rule.Alert, rule.Expr, known)
			if !described[rule.Alert] {
				t.Errorf("%s does not say what to do about %s", page, rule.Alert)
			}
			delete(described, rule.Alert)
			if rule.Annotations["summary"] == "" || rule.Labels["severity"] == "" {
				t.Errorf("%s has no summary or severity", rule.Alert)
			}
		}
	}
	for name := range described {
		t.Errorf("%s describes %s, which is no alert", page, name)
	}
}
