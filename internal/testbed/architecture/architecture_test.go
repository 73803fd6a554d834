// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package architecture_test compares docs/architecture.md with the imports of the code.
package architecture_test

import (
	"flag"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root     = "../../.."
	document = "docs/architecture.md"
	module   = "github.com/tapedeck/tapedeck/"
	pdata    = "go.opentelemetry.io/collector/pdata/"
	drivers  = "internal/deck/store/"
)

var update = flag.Bool("update", false, "write the column of "+document)

// components are the folders that hold one collector component each.
var components = []string{"receiver", "processor", "exporter", "connector", "extension", "converter"}

// packages returns what the package of each folder imports, without its tests. Folders whose name ends in "test" serve tests only and are
// left out, and so are other modules.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, other := os.Stat(filepath.Join(file, "go.mod"))
			if name := d.Name(); file != root && (other == nil || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, "test")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		imports[folder] = append(imports[folder], "")
		for _, s := range parsed.Imports {
			imports[folder] = append(imports[folder], strings.Trim(s.Path.Value, `"`))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(imports) < 50 {
		t.Fatalf("only %d packages found", len(imports))
	}
	return imports
}

// folder is a row of the table.
type folder struct {
	folders []string // as written: "x/" is x and all below, "x/…" only what is below
	line    string
	knows   []string // sorted
	free    bool     // tooling that may import anything
}

// folders reads the table of the document.
func folders(t *testing.T) []*folder {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	var out []*folder
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		r := &folder{line: line, free: strings.TrimSpace(cells[3]) == "anything"}
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			r.folders = append(r.folders, strings.Fields(m[1])...)
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			r.knows = append(r.knows, m[1])
		}
		slices.Sort(r.knows)
		out = append(out, r)
	}
	if len(out) < 10 {
		t.Fatalf("%s has lost its table of folders", document)
	}
	return out
}

// folderOf returns the row that names a folder most exactly, and the name under which other rows know it.
func folderOf(all []*folder, folder string) (found *folder, name string) {
	longest := 0
	for _, r := range all {
		for _, f := range r.folders {
			base, below := strings.CutSuffix(f, "/…")
			base = strings.TrimSuffix(base, "/")
			if (folder == base && !below || strings.HasPrefix(folder, base+"/")) && len(f) > longest {
				found, name, longest = r, strings.TrimSuffix(strings.TrimPrefix(f, "internal/"), "/"), len(f)
			}
		}
	}
	return found, name
}

func TestTableOfFoldersSaysWhoImportsWhom(t *testing.T) {
	all := folders(t)
	imported := map[*folder]map[string]bool{}
	for folder, imports := range packages(t) {
		r, _ := folderOf(all, folder)
		if r == nil {
			t.Errorf("%s has no row for %s", document, folder)
			continue
		}
		if imported[r] == nil {
			imported[r] = map[string]bool{}
		}
		for _, p := range imports {
			if own, ok := strings.CutPrefix(p, module); ok {
				if other, name := folderOf(all, own); other != r && other != nil {
					imported[r][name] = true
				}
			} else if strings.HasPrefix(p, pdata) {
				imported[r]["pdata"] = true
			}
		}
	}
	for _, r := range all {
		generated := strings.Contains(r.folders[0], "*") // modules of their own
		switch names := slices.Sorted(maps.Keys(imported[r])); {
		case imported[r] == nil && !generated:
			t.Errorf("%s has a row for %v, which is not there", document, r.folders)
		case !r.free && !generated && !slices.Equal(names, r.knows):
			if *update {
				rewrite(t, r.line, names)
				continue
			}
			t.Errorf("%s: %v knows %q, the table says %q (-update rewrites it)", document, r.folders, names, r.knows)
		}
	}
}

// rewrite puts other names into a row of the document.
func rewrite(t *testing.T, line string, names []string) {
	t.Helper()
	file := filepath.Join(root, document)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cells := strings.Split(line, "|")
	cells[3] = " nothing "
	if len(names) > 0 {
		cells[3] = " `" + strings.Join(names, "`, `") + "` "
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), line, strings.Join(cells, "|"), 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// componentOf returns the folder of the component that a package belongs to, "" when it belongs to none.
func componentOf(folder string) string {
	parts := strings.Split(folder, "/")
	if len(parts) < 2 || !slices.Contains(components, parts[0]) {
		return ""
	}
	return path.Join(parts[:2]...)
}

func TestImportsPointInOneDirection(t *testing.T) {
	all := folders(t)
	for folder, imports := range packages(t) {
		r, _ := folderOf(all, folder)
		for _, p := range imports {
			own, ok := strings.CutPrefix(p, module)
			if !ok {
				continue
			}
			other, _ := folderOf(all, own)
			top, _, _ := strings.Cut(own, "/")
			switch from, _, _ := strings.Cut(folder, "/"); {
			case componentOf(own) != "" && componentOf(own) != componentOf(folder):
				t.Errorf("%s imports %s: nothing imports a component", folder, own)
			case strings.HasPrefix(own, drivers) && from != "cmd" && !strings.HasPrefix(folder, "internal/testbed/cmd/") && componentOf(folder) == "" && !strings.HasPrefix(folder, drivers):
				t.Errorf("%s imports %s: programs and components choose the storage services that they link", folder, own)
			case top == "cmd" && from != "cmd":
				t.Errorf("%s imports %s: nothing imports a command", folder, own)
			case (from == "tape" || from == "oracle") && top != "tape" && top != "oracle":
				t.Errorf("%s imports %s: tape and oracle import each other and nothing else of this module", folder, own)
			case r != nil && other != nil && other.free && !r.free:
				t.Errorf("%s imports %s: the product does not import tooling", folder, own)
			}
		}
	}
}
