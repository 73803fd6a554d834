// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/tapedeck/tapedeck/internal/assembly"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/imports/foreign"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/tape"
)

// watchedBytes is how long a file may be whose runs are shown.
const watchedBytes = 1 << 30

// folderTail is a folder of transcripts that is looked at again and again. It is read and never written to.
type folderTail struct {
	agents *agentTail
	folder string
	quiet  time.Duration
	begun  time.Time
	files  map[string]*watchedFile
	shown  map[shownKey]bool
	said   map[string]bool
}

// watchedFile is how far a file has been read.
type watchedFile struct {
	size    int64
	changed time.Time
	settled bool
}

// shownKey tells a run from the same run with more in it.
type shownKey struct {
	run    string
	events int
}

// follow shows the runs that end in the transcripts below a folder, until the context ends, which is no
// error.
func (f *tailFlags) follow(ctx context.Context, folder string, p *runPrinter, stderr io.Writer) (err error) {
	t, err := f.agents(ctx, p, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	ctx, t.stop = context.WithCancel(ctx)
	defer t.stop()
	w := &folderTail{agents: t, folder: folder, quiet: f.quiet, begun: time.Now(), files: map[string]*watchedFile{}, shown: map[shownKey]bool{}, said: map[string]bool{}}
	t.due = w.due
	for first := true; ; first = false {
		switch err := w.pass(ctx, first); {
		case ctx.Err() != nil:
			sayRedacted(stderr, &t.redactor)
			p.end(stderr)
			return t.failed
		case err != nil && first:
			return err
		case err != nil:
			w.complain(err)
		case first:
			say(stderr, "watching %d files below %s", len(w.files), folder)
		}
		waiting(ctx, f.every)
	}
}

// complain says an error once.
func (w *folderTail) complain(err error) {
	if text := err.Error(); !w.said[text] && len(w.said) < foreign.MaxFiles {
		w.said[text] = true
		complain(w.agents.stderr, err)
	}
}

// due tells a run that has ended since the watch began, and was not shown as it is.
func (w *folderTail) due(run *tape.Tape) bool {
	key := shownKey{run.Run.RunID, len(run.Events)}
	if run.Run.Status == tape.StatusIncomplete || run.Run.EndedAt.Before(w.begun) || w.shown[key] {
		return false
	}
	w.shown[key] = true
	return true
}

// pass reads the files that have changed and have been quiet since. Those that are there at first count as
// read.
func (w *folderTail) pass(ctx context.Context, first bool) error {
	looked := 0
	return filepath.WalkDir(w.folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil && path == w.folder:
			return err
		case err != nil || !entry.Type().IsRegular():
			return nil
		case looked == foreign.MaxFiles:
			return fmt.Errorf("%s holds more than %d files", w.folder, foreign.MaxFiles)
		}
		looked++
		info, err := entry.Info()
		if err != nil {
			return nil // it is gone
		}
		file := w.files[path]
		if file == nil {
			file = &watchedFile{settled: first}
			w.files[path] = file
		}
		if file.size != info.Size() || !file.changed.Equal(info.ModTime()) {
			file.size, file.changed, file.settled = info.Size(), info.ModTime(), first
		}
		if file.settled || time.Since(file.changed) < w.quiet {
			return nil
		}
		file.settled = true
		if err := w.read(ctx, path); err != nil {
			w.complain(err)
		}
		return nil
	})
}

// read shows what is new in a file. A line that is not whole comes with the next change.
func (w *folderTail) read(ctx context.Context, path string) error {
	if !foreign.Known(path) {
		return nil
	}
	fresh := evidence.NewSet()
	var refused error
	for doc, err := range foreign.ReadFile(path, nil, otlpfile.Options{MaxTotal: watchedBytes}) {
		if err != nil {
			refused = err
			continue
		}
		w.agents.redactor.Traces(doc.Traces)
		w.agents.redactor.Logs(doc.Logs)
		fresh.AddTraces(doc.Traces)
		fresh.AddLogs(doc.Logs)
	}
	for _, trace := range fresh.Split() {
		key := assembly.Key{Tenant: w.agents.tenant}
		if _, err := hex.Decode(key.TraceID[:], []byte(trace.TraceID)); err != nil {
			continue // Split writes 32 digits
		}
		if err := w.agents.show(ctx, key, trace.Set, false); err != nil {
			return err
		}
	}
	return refused
}
