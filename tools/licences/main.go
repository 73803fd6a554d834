// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command licences fails when a module that is linked into a program has a licence that is not on the list below, or none that can be told. It needs no
// network: it reads the files in the module cache.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences under which a program of ours may link a module. Those of MPL-2.0 are linked unchanged.
var allowed = []string{"Apache-2.0", "MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MPL-2.0", "0BSD", "Unlicense", "Zlib", "CC0-1.0", publicDomain}

// publicDomain stands for a text by which authors give up their rights. No licence list has that of SQLite.
const publicDomain = "public domain"

// programs are what a release holds, as folders of modules and packages in them.
var programs = [][2]string{{".", "./cmd/tapedeck"}, {"cmd/otelcol-tapedeck", "."}, {"cmd/otelcol-tapedeck-full", "."}, {"cmd/tapedeck-iceberg", "."}}

func main() {
	root := flag.String("root", ".", "the repository")
	list := flag.Bool("list", false, "print every module with its licences")
	flag.Parse()
	if err := run(*root, *list, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(root string, list bool, out io.Writer) error {
	modules := map[string]string{} // module → folder
	for _, p := range programs {
		// For every system that a release is made for: what only one of them links counts too.
		for _, goos := range []string{"linux", "darwin", "windows"} {
			if err := linked(filepath.Join(root, p[0]), p[1], goos, modules); err != nil {
				return fmt.Errorf("%s: %w", p[0], err)
			}
		}
	}
	counts := map[string]int{}
	var bad []error
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		found, err := licences(modules[module])
		if err != nil {
			return err
		}
		if err := judge(module, found); err != nil {
			bad = append(bad, err)
		}
		for _, l := range found {
			counts[l]++
		}
		if list {
			fmt.Fprintf(out, "%s\t%s\n", module, strings.Join(found, ", "))
		}
	}
	for _, l := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(out, "%4d %s\n", counts[l], l)
	}
	fmt.Fprintf(out, "%4d modules\n", len(modules))
	return errors.Join(bad...)
}

// linked adds the modules of a program, our own left out.
func linked(dir, pkg, goos string, modules map[string]string) error {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", pkg)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	text, err := cmd.Output()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 || strings.HasPrefix(fields[0], "github.com/tapedeck/tapedeck") {
			continue
		}
		modules[fields[0]+"@"+fields[1]] = fields[2]
	}
	return nil
}

// coverage is how much of a file has to be words of licences that are known, in percent. The rest is names, years and remarks.
const coverage = 50

// licences returns the licences in the files of a folder that say which they are; none if none can be told.
func licences(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name, "UNLICENSE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		switch words := strings.Fields(string(text)); {
		case strings.HasPrefix(string(text), "SQLite Is Public Domain"):
			found[publicDomain] = true
			continue
		case len(words) == 1 && strings.Contains(words[0], "://"):
			continue // where a picture comes from
		}
		scan := licensecheck.Scan(text)
		if scan.Percent < coverage {
			found["unknown ("+e.Name()+")"] = true
			continue
		}
		for _, m := range scan.Match {
			if !m.IsURL {
				found[m.ID] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

func judge(module string, found []string) error {
	if len(found) == 0 {
		return fmt.Errorf("%s: no licence is found in it", module)
	}
	for _, l := range found {
		if !slices.Contains(allowed, l) {
			return fmt.Errorf("%s: %s is not a licence that may be linked", module, l)
		}
	}
	return nil
}
