// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/workspace"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// recordedOnly is the word of --tools that asks for recorded answers alone: no copy of the workspace is made.
const recordedOnly = "recorded-only"

// strict takes the word out of the files of --tools.
func (f *rerunFlags) strict() {
	at := slices.Index(f.match.from.Declared, recordedOnly)
	if at >= 0 {
		f.match.from.Declared, f.recordedOnly = slices.Delete(slices.Clone(f.match.from.Declared), at, at+1), true
	}
}

// workspace makes a copy of what the recorded run had before it, where the recording kept it. Folders in open
// stay open to the command.
func (r *rerunning) workspace(ctx context.Context, open ...string) (w *rerun.Workspace, why string, err error) {
	contents := r.source.Extensions.Get(harness.Key).Get(harness.ContentsKey)
	switch {
	case contents.Kind() != exactjson.Object:
		return nil, "", nil
	case r.f.recordedOnly:
		return nil, "--tools " + recordedOnly, nil
	case !r.at.Ref.InDeck():
		return nil, "the recording was read from a file, and the contents lie in the deck", nil
	}
	kept, err := r.keptWorkspace(ctx, contents.Get("trace_id").Str())
	if err == nil {
		w, err = rerun.NewWorkspace(ctx, kept, open...)
	}
	if err != nil {
		return nil, "", fmt.Errorf("the workspace of the recording: %w; --tools %s replays without a copy of it", err, recordedOnly)
	}
	return w, "", nil
}

// keptWorkspace reads what the evidence of a trace holds of the workspace.
func (r *rerunning) keptWorkspace(ctx context.Context, trace string) (kept *workspace.Kept, err error) {
	d, err := replay.OpenDeck(ctx, r.at.Ref.DeckURL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	at := r.at.Ref.Location
	if at.TraceID = trace; at.Area == deck.AreaJoined {
		at.Area = deck.AreaRuns
	}
	stored, err := derive.NewWriter(d, derive.Options{Options: generation.Options{Producer: generation.Producer()}}).Load(ctx, r.source.Run.Tenant, at)
	if err != nil {
		return nil, err
	}
	limits := workspace.DefaultLimits
	limits.Bytes *= 2 // tokens are longer than some secrets
	return workspace.Read(stored.Set.Workspace(), limits)
}

// maxStamped bounds how many files are looked at for changes in the folder in which a command runs.
const maxStamped = 20_000

// watchedFolder is the folder in which a command runs without a copy.
type watchedFolder struct {
	dir    string
	before workspace.Stamps
	err    error
}

func watchFolder(dir string) *watchedFolder {
	if dir == "" {
		dir = "."
	}
	w := &watchedFolder{dir: dir}
	w.before, w.err = workspace.TakeStamps(dir, maxStamped)
	return w
}

// changed takes down what the command changed.
func (w *watchedFolder) changed(e *rerun.Evidence) {
	after, err := workspace.TakeStamps(w.dir, maxStamped)
	if err = errors.Join(w.err, err); err != nil {
		e.NotLooked = err.Error()
		return
	}
	e.Looked = rerun.InFolder
	for _, c := range w.before.Changes(after) {
		e.AddFiles(rerun.ChangedFile{Path: c.Path, Operation: c.Operation, In: rerun.InFolder, Kept: true})
	}
}
