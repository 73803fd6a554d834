// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)

// TestArchivesDependOnTheirFilesAlone: other times, modes and order on the disk, the same bytes.
func TestArchivesDependOnTheirFilesAlone(t *testing.T) {
	folder := func(order []string, mode os.FileMode, when time.Time) []file {
		dir := t.TempDir()
		for _, name := range order {
			p := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte("of "+name), mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(p, when, when); err != nil {
				t.Fatal(err)
			}
		}
		files, err := read(dir)
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	names := []string{"tapedeck", "examples/a.yaml", "LICENSE"}
	one := folder(names, 0o600, at)
	slices.Reverse(names)
	two := folder(names, 0o755, at.Add(time.Hour))
	for kind, pack := range map[string]func(io.Writer, string, []file, time.Time) error{"tar": tarball, "zip": zipped} {
		var a, b bytes.Buffer
		if err := pack(&a, "x", one, at); err != nil {
			t.Fatal(err)
		}
		if err := pack(&b, "x", two, at); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s differs", kind)
		}
		got := map[string]string{}
		if kind == "tar" {
			z, err := gzip.NewReader(&a)
			if err != nil {
				t.Fatal(err)
			}
			r := tar.NewReader(z)
			for h, err := r.Next(); err != io.EOF; h, err = r.Next() {
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(r)
				got[h.Name] = h.FileInfo().Mode().String() + " " + string(body)
				if !h.ModTime.Equal(at) || h.Uid != 0 || h.Uname != "" {
					t.Errorf("%+v", h)
				}
			}
		} else {
			r, err := zip.NewReader(bytes.NewReader(a.Bytes()), int64(a.Len()))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.File {
				body, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				text, _ := io.ReadAll(body)
				got[f.Name] = f.Mode().String() + " " + string(text)
			}
		}
		for name, want := range map[string]string{"x/tapedeck": "-rwxr-xr-x of tapedeck", "x/LICENSE": "-rw-r--r-- of LICENSE", "x/examples/a.yaml": "-rw-r--r-- of examples/a.yaml"} {
			if got[name] != want {
				t.Errorf("%s: %s is %q", kind, name, got[name])
			}
		}
	}
}

func TestChecksumsAreThoseOfSha256sum(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := checksums(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n"
	if err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}

// TestEveryModuleOfTheRepositoryIsTaggedOrNot: a new one has to be decided about.
func TestEveryModuleOfTheRepositoryIsTaggedOrNot(t *testing.T) {
	untagged := []string{"bench/redaction", "bench/spool", "internal/testbed/browsertest", "internal/testbed/deploytest", "internal/testbed/examplestest", "internal/testbed/recorder/drivers/go", "internal/testbed/sdktest", "tools", "tools/sbom"}
	out, err := exec.Command("git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard", "go.mod", "*/go.mod").Output()
	if err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skip("an archive of the sources does not list its files: ", err)
	}
	var all []string
	for name := range strings.FieldsSeq(string(out)) {
		all = append(all, strings.TrimSuffix(strings.TrimSuffix(name, "go.mod"), "/"))
	}
	slices.Sort(all)
	want := append(slices.Clone(untagged), tagged...)
	for i, m := range want {
		want[i] = strings.TrimPrefix(m, ".")
	}
	slices.Sort(want)
	if !slices.Equal(all, want) {
		t.Errorf("modules %q, decided about %q", all, want)
	}
	if got := tagsOf("1.2.3"); !slices.Equal(got, []string{"v1.2.3", "cmd/otelcol-tapedeck/v1.2.3", "cmd/otelcol-tapedeck-full/v1.2.3", "cmd/tapedeck-iceberg/v1.2.3"}) {
		t.Errorf("tags %q", got)
	}
}

func TestUnknownPlatformIsRefused(t *testing.T) {
	if err := run(options{out: t.TempDir(), platforms: []string{"plan9/mips"}}); err == nil {
		t.Error("accepted")
	}
}

// TestManualsAreThoseOfTheProgramThatIsReleased: each command has its page and each shell its completions, of the version that is released, and none is taken for a program in an archive.
func TestManualsAreThoseOfTheProgramThatIsReleased(t *testing.T) {
	o, manuals, stage := options{root: "../..", version: "1.2.3-test"}, t.TempDir(), t.TempDir()
	if err := o.manuals(manuals); err != nil {
		t.Fatal(err)
	}
	if err := o.beside(stage, manuals); err != nil {
		t.Fatal(err)
	}
	files, err := read(stage)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, f := range files {
		pages[f.name] = string(f.body)
		if f.executable {
			t.Errorf("%s is executable", f.name)
		}
	}
	for name, says := range map[string]string{
		"share/man/man1/tapedeck.1": `"tapedeck 1.2.3-test"`, "share/man/man1/tapedeck-show.1": `"tapedeck 1.2.3-test"`,
		"completions/bash/tapedeck": "complete -o", "completions/zsh/_tapedeck": "#compdef tapedeck", "completions/fish/tapedeck.fish": "complete -c tapedeck",
		"completions/powershell/tapedeck.ps1": "Register-ArgumentCompleter", "LICENSE": "Apache License", "examples/README.md": "#",
	} {
		if !strings.Contains(pages[name], says) {
			t.Errorf("%s does not hold %q: %.200q", name, says, pages[name])
		}
	}
	// What a person installs knows of every command that the first help knows of.
	for name := range strings.FieldsSeq("bisect compact derive doctor gc ls replay serve tail verify view") {
		if pages["share/man/man1/tapedeck-"+name+".1"] == "" {
			t.Errorf("no page of %s", name)
		}
	}
}

func TestEverySystemIsCompiled(t *testing.T) {
	systems, collectors := map[string]bool{}, 0
	for platform, names := range compiled {
		if !slices.Contains(platforms, platform) {
			t.Errorf("%s is no platform of a release", platform)
		}
		system, _, _ := strings.Cut(platform, "/")
		systems[system] = systems[system] || slices.Contains(names, "tapedeck")
		collectors += len(names) - 1
	}
	for _, platform := range platforms {
		if system, _, _ := strings.Cut(platform, "/"); !systems[system] {
			t.Errorf("nothing is compiled for %s", system)
		}
	}
	if collectors == 0 {
		t.Error("no collector is compiled")
	}
	if own := compiledFor(runtime.GOOS + "/" + runtime.GOARCH); own != nil {
		t.Errorf("%v of this machine is compiled twice", own)
	}
}
