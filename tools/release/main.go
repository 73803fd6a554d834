// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command release builds what a release consists of: for each platform one archive with the programs, their manual pages and completions, and for each program in it a bill of materials (SBOM,
// CycloneDX JSON) that is read from the built binary; then the checksums of all files. The same sources, Go release and version give the same bytes,
// on any machine. `make release` runs it.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// platforms are those that a release has.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// program is one binary: the module it is built from and the linker variable that holds its version.
type program struct{ name, dir, pkg, variable string }

var programs = []program{
	{"otelcol-tapedeck", "cmd/otelcol-tapedeck", ".", "main.version"},
	{"otelcol-tapedeck-full", "cmd/otelcol-tapedeck-full", ".", "main.version"},
	{"tapedeck", ".", "./cmd/tapedeck", "main.built"},
	{"tapedeck-iceberg", "cmd/tapedeck-iceberg", ".", "main.built"},
}

// tagged are the modules that others may require or build; each has tags of its own (<folder>/v1.2.3). bench, tools and tests have none.
var tagged = []string{".", "cmd/otelcol-tapedeck", "cmd/otelcol-tapedeck-full", "cmd/tapedeck-iceberg"}

// extras lie in every archive beside the programs.
var extras = []string{"LICENSE", "README.md", "examples"}

// completions are the shells that complete commands of tapedeck, and the file in which each looks for that.
var completions = map[string]string{"bash": "tapedeck", "zsh": "_tapedeck", "fish": "tapedeck.fish", "powershell": "tapedeck.ps1"}

type options struct {
	root, out, version, sbom string
	platforms                []string
	epoch                    time.Time
}

func main() {
	root := flag.String("root", ".", "directory of the root module")
	out := flag.String("out", "dist", "directory of the archives; it is made anew")
	version := flag.String("version", "", "version without v, such as 1.2.3")
	sbom := flag.String("sbom", "bin/tools/cyclonedx-gomod", "the built cyclonedx-gomod")
	only := flag.String("platforms", strings.Join(platforms, ","), "GOOS/GOARCH, comma separated")
	tags := flag.Bool("tags", false, "print the tags of the release, one a line, and build nothing")
	compile := flag.Bool("compile", false, "compile programs for the other platforms, and keep nothing")
	flag.Parse()
	if !validVersion.MatchString(*version) {
		fail(fmt.Errorf("-version %q is no version such as 1.2.3 or 1.2.3-rc.1", *version))
	}
	if *tags {
		for _, tag := range tagsOf(*version) {
			fmt.Println(tag)
		}
		return
	}
	o := options{root: *root, out: *out, version: *version, sbom: *sbom, platforms: strings.Split(*only, ",")}
	if *compile {
		if err := o.compile(); err != nil {
			fail(err)
		}
		return
	}
	var err error
	if o.epoch, err = sourceDate(*root); err != nil {
		fail(err)
	}
	if err := run(o); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "release:", err)
	os.Exit(1)
}

var validVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func tagsOf(version string) (tags []string) {
	for _, module := range tagged {
		tags = append(tags, path.Join(module, "v"+version))
	}
	return tags
}

// sourceDate is the time that stands in the archives: SOURCE_DATE_EPOCH, else the time of the last commit.
func sourceDate(root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.Command("git", "-C", root, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("no SOURCE_DATE_EPOCH, and git does not know the last commit: %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	var seconds int64
	if _, err := fmt.Sscanf(text, "%d", &seconds); err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q is no number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func run(o options) error {
	for _, platform := range o.platforms {
		if !slices.Contains(platforms, platform) {
			return fmt.Errorf("platform %q is not one of %s", platform, strings.Join(platforms, ", "))
		}
	}
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	manuals, err := os.MkdirTemp("", "tapedeck-manuals-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(manuals) }()
	if err := o.manuals(manuals); err != nil {
		return fmt.Errorf("manuals: %w", err)
	}
	for _, platform := range o.platforms {
		if err := o.release(platform, manuals); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	return checksums(o.out)
}

// manuals writes what tapedeck says of itself: share/man/man1 and completions/<shell>. The program is built for this machine to say it; what it says is the same on each.
func (o options) manuals(dir string) error {
	bin, err := os.MkdirTemp("", "tapedeck-manuals-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(bin) }()
	binary := filepath.Join(bin, "tapedeck.exe") // a name that every system runs
	// As everything is built here, which takes from the cache what that left there.
	if err := execute(exec.Command("go", "-C", o.root, "build", "-ldflags", "-s -w -X main.built="+o.version, "-o", binary, "./cmd/tapedeck")); err != nil {
		return err
	}
	if err := execute(exec.Command(binary, "man", filepath.Join(dir, "share", "man", "man1"))); err != nil {
		return err
	}
	for shell, name := range completions {
		script, err := exec.Command(binary, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("completion %s: %w", shell, err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "completions", shell), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "completions", shell, name), script, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// build writes a program for a platform to binary, with further flags of go build.
func (o options) build(platform string, p program, binary string, flags ...string) error {
	goos, goarch, _ := strings.Cut(platform, "/")
	fmt.Println("build", platform, p.name)
	args := append([]string{"-C", filepath.Join(o.root, p.dir), "build", "-trimpath", "-buildvcs=false",
		"-ldflags", fmt.Sprintf("-s -w -X %s=%s", p.variable, o.version), "-o", binary}, flags...)
	build := exec.Command("go", append(args, p.pkg)...)
	build.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=")
	return execute(build)
}

// release builds one platform. manuals is the folder with what lies in every archive and has no place in the repository.
func (o options) release(platform, manuals string) error {
	goos, goarch, _ := strings.Cut(platform, "/")
	name := fmt.Sprintf("tapedeck_%s_%s_%s", o.version, goos, goarch)
	stage, err := os.MkdirTemp("", "tapedeck-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(stage) }()
	for _, p := range programs {
		binary := filepath.Join(stage, p.name)
		if goos == "windows" {
			binary += ".exe"
		}
		if err := o.build(platform, p, binary); err != nil {
			return err
		}
		bill := filepath.Join(o.out, fmt.Sprintf("%s_%s_%s_%s.cdx.json", p.name, o.version, goos, goarch))
		// Without serial number and time, which would differ each time.
		if err := execute(exec.Command(o.sbom, "bin", "-json", "-noserial", "-notimestamp", "-std", "-version", "v"+o.version, "-output", bill, binary)); err != nil {
			return err
		}
	}
	if err := o.beside(stage, manuals); err != nil {
		return err
	}
	files, err := read(stage)
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	suffix, pack := ".tar.gz", tarball
	if goos == "windows" {
		suffix, pack = ".zip", zipped
	}
	if err := pack(&archive, name, files, o.epoch); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, name+suffix), archive.Bytes(), 0o644)
}

// beside puts into the folder of an archive what lies there beside the programs.
func (o options) beside(stage, manuals string) error {
	for _, extra := range extras {
		if err := stageExtra(filepath.Join(o.root, extra), filepath.Join(stage, extra)); err != nil {
			return err
		}
	}
	return os.CopyFS(stage, os.DirFS(manuals))
}

func execute(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err)
	}
	return nil
}

func stageExtra(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	body, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, body, 0o644)
}

// file is a member of an archive.
type file struct {
	name       string // below the folder of the archive, with slashes
	body       []byte
	executable bool
}

// read returns all files of a folder in the order of their names. What lies at its top and is a program is executable: the mode on the disk of the building
// machine does not count.
func read(dir string) (files []file, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		body, err := os.ReadFile(p)
		name := filepath.ToSlash(rel)
		files = append(files, file{name, body, slices.ContainsFunc(programs, func(p program) bool { return strings.TrimSuffix(name, ".exe") == p.name })})
		return err
	})
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, err
}

func (f file) mode() int64 {
	if f.executable {
		return 0o755
	}
	return 0o644
}

func tarball(w io.Writer, folder string, files []file, at time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(folder, f.name), Size: int64(len(f.body)), Mode: f.mode(), ModTime: at, Format: tar.FormatPAX}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(f.body); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func zipped(w io.Writer, folder string, files []file, at time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate, Modified: at}
		header.SetMode(fs.FileMode(f.mode()))
		body, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := body.Write(f.body); err != nil {
			return err
		}
	}
	return z.Close()
}

// checksums writes SHA256SUMS in the form that sha256sum -c reads.
func checksums(dir string) error {
	files, err := read(dir)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.body), f.name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
