// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package foreign reads files of other programs beside those of OTLP. What a file holds tells its format,
// never its name.
package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/tapedeck/tapedeck/internal/reading/imports"
	"github.com/tapedeck/tapedeck/internal/reading/imports/jaeger"
	"github.com/tapedeck/tapedeck/internal/reading/imports/langfuse"
	"github.com/tapedeck/tapedeck/internal/reading/imports/langsmith"
	"github.com/tapedeck/tapedeck/internal/reading/imports/phoenix"
	"github.com/tapedeck/tapedeck/internal/reading/imports/tempo"
	"github.com/tapedeck/tapedeck/internal/reading/imports/transcript"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// Formats are the formats that are known, in the order in which they are tried.
var Formats = []imports.Format{
	transcript.ClaudeCode,
	transcript.Codex,
	transcript.GeminiCLI,
	transcript.OpenCode,
	tempo.Format,
	jaeger.Format,
	langfuse.Format,
	langsmith.Format,
	phoenix.Format,
}

// ReadFile reads the named file, or stdin for the name "-": one of a known format, else telemetry as package
// otlpfile reads it.
func ReadFile(path string, stdin io.Reader, opts otlpfile.Options) iter.Seq2[otlpfile.Document, error] {
	return func(yield func(otlpfile.Document, error) bool) {
		if path == "-" {
			read(stdin, imports.Input{Name: "stdin", Options: opts}, yield)
			return
		}
		f, err := otlpfile.OpenFile(path)
		if err != nil {
			yield(otlpfile.Document{}, err)
			return
		}
		defer func() { _ = f.Close() }()
		beside := func(name string) (io.ReadCloser, error) { return sibling(path, name) }
		read(f, imports.Input{Name: path, Options: opts, Sibling: beside}, yield)
	}
}

// Read is ReadFile for a stream.
func Read(r io.Reader, name string, opts otlpfile.Options) iter.Seq2[otlpfile.Document, error] {
	return func(yield func(otlpfile.Document, error) bool) {
		read(r, imports.Input{Name: name, Options: opts}, yield)
	}
}

func read(r io.Reader, in imports.Input, yield func(otlpfile.Document, error) bool) {
	plain, done, err := otlpfile.Plain(r, in.Options)
	if err != nil {
		yield(otlpfile.Document{}, &otlpfile.Error{Name: in.Name, Err: err})
		return
	}
	defer done()
	head, _ := plain.Peek(imports.HeadBytes)
	in.Reader = plain
	if f := formatOf(head); f != nil {
		f.Read(in)(yield)
		return
	}
	otlpfile.ReadPlain(plain, in.Name, in.Options)(yield)
}

// formatOf is the format of a file with this beginning; nil for telemetry, and for what is no JSON, as all
// formats are.
func formatOf(head []byte) *imports.Format {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' || otlpfile.Tells(head) {
		return nil
	}
	for i := range Formats {
		if Formats[i].Tells(head) {
			return &Formats[i]
		}
	}
	return nil
}

// sibling opens a regular file below the folder of another one.
func sibling(path, name string) (io.ReadCloser, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Stat(filepath.FromSlash(name)); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	return root.Open(filepath.FromSlash(name))
}

// MaxFiles is how many files of a folder are looked at.
const MaxFiles = 100_000

// Files lists the files below a folder that are of a known format or telemetry, and counts the others. Links
// are not followed.
func Files(folder string) (files []string, others int, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == folder:
			return err
		case err != nil:
			others++
			return nil
		case !entry.Type().IsRegular():
			return nil
		case len(files)+others == MaxFiles:
			return fmt.Errorf("%s holds more than %d files", folder, MaxFiles)
		case Known(path):
			files = append(files, path)
		default:
			others++
		}
		return nil
	})
	return files, others, err
}

// Known reports a file of a known format, or telemetry.
func Known(path string) bool {
	f, err := otlpfile.OpenFile(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	plain, done, err := otlpfile.Plain(f, otlpfile.Options{})
	if err != nil {
		return false
	}
	defer done()
	head, _ := plain.Peek(imports.HeadBytes)
	return len(head) > 0 && (formatOf(head) != nil || otlpfile.Tells(head))
}
