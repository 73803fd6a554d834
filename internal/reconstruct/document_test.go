// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

//go:generate go test . -run DocumentOfRulesIsCurrent -document.update

var updateDocument = flag.Bool("document.update", false, "write the document of the rules")

// What stands between these marks of the document is generated.
const (
	generatedPart      = "<!-- generated from the rules by `go generate ./internal/reconstruct` -->\n"
	endOfGeneratedPart = "\n<!-- end of the generated part -->"
)

const rulesDocument = "../../docs/reconstruction.md"

var (
	ruleID     = regexp.MustCompile(`^(read|place|join|settle|recover|pair)/[a-z-]+$`)
	resolverID = regexp.MustCompile(`^value/[a-z-]+$`)
)

// ruleRow is a row of a table of rules.
type ruleRow struct {
	id, function, file string
	after              []string
}

// rulesInSource reads the tables of rules and the doc comments of all functions.
func rulesInSource(t *testing.T) (rows []ruleRow, docs map[string]string) {
	t.Helper()
	return rowsInSource(t, ".", ruleID, func(cells []ast.Expr) string { return lastName(cells[len(cells)-1]) })
}

// resolversInSource reads those of the resolvers of values. The function stands behind the id.
func resolversInSource(t *testing.T) (rows []ruleRow, docs map[string]string) {
	t.Helper()
	return rowsInSource(t, "value", resolverID, func(cells []ast.Expr) string { return innermostName(cells[1]) })
}

// innermostName is the name of the function in asRecorded(taskAbove), or of one that stands by itself.
func innermostName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.CallExpr:
		return innermostName(e.Args[0])
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// rowsInSource reads the rows of tables below a folder whose first cell is an id, and the doc comments there.
func rowsInSource(t *testing.T, folder string, ids *regexp.Regexp, function func(cells []ast.Expr) string) (rows []ruleRow, docs map[string]string) {
	t.Helper()
	docs = map[string]string{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.Contains(f.Doc.Text(), "Needs:") {
				docs[f.Name.Name] = f.Doc.Text()
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			row, ok := n.(*ast.CompositeLit)
			if !ok || len(row.Elts) < 2 {
				return true
			}
			values := make([]ast.Expr, len(row.Elts))
			for i, e := range row.Elts {
				values[i] = e
				if kv, keyed := e.(*ast.KeyValueExpr); keyed {
					values[i] = kv.Value
				}
			}
			id, ok := values[0].(*ast.BasicLit)
			if !ok || id.Kind != token.STRING {
				return true
			}
			name, _ := strconv.Unquote(id.Value)
			if !ids.MatchString(name) {
				return true
			}
			if _, ok := values[1].(*ast.BasicLit); ok {
				return true // a list of ids
			}
			found := ruleRow{id: name, file: path}
			values = slices.DeleteFunc(values, func(v ast.Expr) bool {
				list, isList := v.(*ast.CompositeLit)
				if isList {
					found.after = idsOf(list)
				}
				one, isName := v.(*ast.Ident)
				return isList || isName && one.Name == "nil"
			})
			found.function = function(values)
			rows = append(rows, found)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, docs
}

func idsOf(list *ast.CompositeLit) (ids []string) {
	for _, e := range list.Elts {
		if id, ok := e.(*ast.BasicLit); ok {
			one, _ := strconv.Unquote(id.Value)
			ids = append(ids, one)
		}
	}
	return ids
}

// lastName is the name of the function that a row applies: the innermost one of latest((*pairing).byID).
func lastName(e ast.Expr) (name string) {
	if f, ok := e.(*ast.FuncLit); ok { // it calls the function with more than the ledger
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
					name = sel.Sel.Name
				}
			}
			return true
		})
		return name
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if name == "" || strings.HasPrefix(name, "latest") || name == "alone" || name == "inOrder" {
				name = n.Sel.Name
			}
			// of alone(among, fits, proves) the second says what fits
			return true
		case *ast.Ident:
			if name == "" {
				name = n.Name
			}
		}
		return true
	})
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) > 1 {
		if sel, ok := call.Args[1].(*ast.SelectorExpr); ok {
			return sel.Sel.Name
		}
	}
	return name
}

var stageTitles = []struct{ stage, title, text string }{
	{"read", "Reading", "Several spans that report one thing become one before anything is read of them."},
	{"place", "Placing", "Whose child each span is, and what a span says of the spans below it."},
	{"join", "Joining", "Which parts of traces are one run. A rule proposes a union. Where several runs fit equally well, none is taken."},
	{"settle", "Settling", "One call for each real call, however many spans and records report it."},
	{"recover", "Recovering", "Calls, answers and messages that no span reports, from other records that hold them."},
	{"pair", "Pairing", "Which answer asked for which tool call, and what later requests show of its result. Ids decide first, then results, arguments, names and order."},
}

// valueTitles are the tables of resolvers, by what follows value/ in an id.
var valueTitles = []struct{ prefix, title string }{
	{"message-", "The user's message (`input.user_message`)"},
	{"instructions-", "The instructions (`input.system_prompt`)"},
	{"output-", "The answer (`output.text`, `output.message`)"},
	{"status-", "How the run ended (`run.status`)"},
	{"model-", "The model, where no call names one (`config.model`)"},
	{"args-", "The arguments of a tool call (`args`)"},
	{"result-", "The result of a tool call (`result`)"},
}

// resolverTables lists the resolvers of each value in the order in which they are asked.
func resolverTables(t *testing.T) string {
	t.Helper()
	rows, docs := resolversInSource(t)
	var b strings.Builder
	b.WriteString("\n## Deciding values\n\nWhich record each value is taken from. The resolvers of a list are asked in their order. The first that finds a value decides it; " +
		"those behind it may reword it, label it or take it back.\nOne decides every value, so no tape names them: `--why FIELD` and `derive --explain` do.\n")
	listed := map[string]bool{}
	for _, v := range valueTitles {
		fmt.Fprintf(&b, "\n### %s\n\n| resolver | what it does | needs | refuses | seen in |\n|---|---|---|---|---|\n", v.title)
		for _, r := range rows {
			if !strings.HasPrefix(r.id, "value/"+v.prefix) {
				continue
			}
			m := headers.FindStringSubmatch(docs[r.function])
			if m == nil || listed[r.id] {
				t.Errorf("%s: %s has no header, or the id is not its own", r.id, r.function)
				continue
			}
			listed[r.id] = true
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.id, oneLine(m[1]), oneLine(m[2]), oneLine(m[3]), oneLine(m[4]))
		}
	}
	if len(listed) != len(rows) || len(rows) < 60 {
		t.Errorf("%d of %d resolvers are listed", len(listed), len(rows))
	}
	return b.String()
}

var headers = regexp.MustCompile(`(?s)^\w+ (.*?)\n\nNeeds: *(.*?)\.?\nRefuses: *(.*?)\.?\nSeen in: *(.*?)\.?\n*$`)

func oneLine(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

// TestDocumentOfRulesIsCurrent compares docs/reconstruction.md with the headers of the rules.
func TestDocumentOfRulesIsCurrent(t *testing.T) {
	rows, docs := rulesInSource(t)
	if len(rows) < 80 {
		t.Fatalf("only %d rules found", len(rows))
	}
	var b strings.Builder
	body, err := os.ReadFile(rulesDocument)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(body), generatedPart)
	_, tail, _ := strings.Cut(rest, endOfGeneratedPart)
	b.WriteString(head + generatedPart)
	seen := map[string]bool{}
	for _, s := range stageTitles {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| rule | what it does | needs | refuses | seen in |\n|---|---|---|---|---|\n", s.title, s.text)
		for _, r := range rows {
			stage, _, _ := strings.Cut(r.id, "/")
			if stage != s.stage || seen[r.id] {
				continue
			}
			m := headers.FindStringSubmatch(docs[r.function])
			if m == nil {
				continue // a step of the straight way
			}
			seen[r.id] = true
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.id, oneLine(m[1]), oneLine(m[2]), oneLine(m[3]), oneLine(m[4]))
		}
	}
	b.WriteString(resolverTables(t))
	b.WriteString(endOfGeneratedPart + tail)
	for _, r := range rows {
		if !seen[r.id] && !slices.Contains(straightRules, r.id) {
			t.Errorf("%s: no header with Needs, Refuses and Seen in above %s", r.id, r.function)
		}
	}
	if *updateDocument {
		if err := os.WriteFile(rulesDocument, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		var without []string
		for _, r := range rows {
			if !seen[r.id] {
				without = append(without, r.id+" "+r.function)
			}
		}
		slices.Sort(without)
		t.Logf("without a header: %s", strings.Join(slices.Compact(without), ", "))
		return
	}
	if string(body) != b.String() {
		t.Errorf("%s is not what the rules say: go generate ./internal/reconstruct", rulesDocument)
	}
}
