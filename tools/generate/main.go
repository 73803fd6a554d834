// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command generate rewrites everything in the repository that is derived from something else:
//
//	metadata.yaml          → generated_*.go, internal/metadata, documentation.md, the status table of the README
//	//go:generate          → whatever the directive says
//	builder-config*.yaml   → cmd/otelcol-tapedeck*/ (sources, go.mod, go.sum; nothing is compiled)
//
// `make generate` runs it. The output is committed, so building and testing never need these tools.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", ".", "directory of the root module")
	tools := flag.String("tools", "bin/tools", "directory of the built mdatagen and builder")
	flag.Parse()
	if err := run(*root, *tools); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(root, tools string) error {
	tools, err := filepath.Abs(tools)
	if err != nil {
		return err
	}
	// `//go:generate mdatagen metadata.yaml` in a component finds the pinned tool, not one that happens to be installed.
	path := "PATH=" + tools + string(os.PathListSeparator) + os.Getenv("PATH")
	if err := execute(root, path, "go", "generate", "./..."); err != nil {
		return err
	}
	components, err := find(root, "metadata.yaml")
	if err != nil {
		return err
	}
	for _, file := range components {
		dir := filepath.Dir(file)
		if err := execute(dir, path, filepath.Join(tools, "mdatagen"), "metadata.yaml"); err != nil {
			return err
		}
		if err := rewrite(filepath.Join(dir, "README.md"), ownStatusTable); err != nil {
			return err
		}
	}
	manifests, err := filepath.Glob(filepath.Join(root, "builder-config*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range manifests {
		if err := execute(root, path, filepath.Join(tools, "builder"), "--config", filepath.Base(file), "--skip-compilation"); err != nil {
			return err
		}
	}
	sources, err := filepath.Glob(filepath.Join(root, "cmd", "otelcol-*", "*.go"))
	if err != nil {
		return err
	}
	for _, file := range sources {
		var edits []func(string) (string, error)
		switch filepath.Base(file) { // the others are written by hand
		case "main.go":
			edits = append(edits, linkerVersion, moduleVersion)
		case "components.go":
			edits = append(edits, moduleVersion)
		}
		for _, edit := range append(edits, formatted) {
			if err := rewrite(file, edit); err != nil {
				return err
			}
		}
	}
	return nil
}

// find lists the files called name below root that belong to the root module, in lexical order.
func find(root, name string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root {
			base := d.Name()
			_, mod := os.Stat(filepath.Join(path, "go.mod"))
			if base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || mod == nil {
				return filepath.SkipDir
			}
		}
		if !d.IsDir() && d.Name() == name {
			found = append(found, path)
		}
		return nil
	})
	return found, err
}

// rewrite replaces the file by edit of its content; a file that does not exist has nothing to edit.
func rewrite(file string, edit func(string) (string, error)) error {
	before, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	after, err := edit(string(before))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if after == string(before) {
		return nil
	}
	return os.WriteFile(file, []byte(after), 0o644)
}

func execute(dir, env, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s in %s: %w\n%s", filepath.Base(name), dir, err, out)
	}
	return nil
}
