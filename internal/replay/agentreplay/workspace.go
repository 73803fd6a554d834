// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"context"
	"errors"
	"fmt"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/workspace"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// RecordedOnly is the word of --tools that stands for Options.RecordedOnly.
const RecordedOnly = "recorded-only"

// openWorkspace makes a copy of the workspace that the recorded run began in. Where it makes none of a
// workspace that was kept, it says why. The command may write to the folders in open.
func (r *Replay) openWorkspace(ctx context.Context, open ...string) (w *rerun.Workspace, why string, err error) {
	contents := r.of.Tape.Extensions.Get(harness.Key).Get(harness.ContentsKey)
	switch {
	case contents.Kind() != exactjson.Object:
		return nil, "", nil
	case r.o.RecordedOnly:
		return nil, "--tools " + RecordedOnly, nil
	case !r.of.At.Ref.InDeck():
		return nil, "the recording was read from a file, and the contents lie in the deck", nil
	}
	kept, err := r.keptWorkspace(ctx, contents.Get("trace_id").Str())
	if err == nil {
		w, err = rerun.NewWorkspace(ctx, kept, open...)
	}
	if err != nil {
		return nil, "", fmt.Errorf("the workspace of the recording: %w; --tools %s replays without a copy of it", err, RecordedOnly)
	}
	return w, "", nil
}

// keptWorkspace reads the workspace from the evidence of a trace.
func (r *Replay) keptWorkspace(ctx context.Context, trace string) (kept *workspace.Kept, err error) {
	d, err := replay.OpenDeck(ctx, r.of.At.Ref.DeckURL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	at := r.of.At.Ref.Location
	if at.TraceID = trace; at.Area == deck.AreaJoined {
		at.Area = deck.AreaRuns
	}
	w := derive.NewWriter(d, derive.Options{Options: generation.Options{Producer: generation.Producer()}})
	stored, err := w.Load(ctx, r.of.Tape.Run.Tenant, at)
	if err != nil {
		return nil, err
	}
	limits := workspace.DefaultLimits
	limits.Bytes *= 2 // tokens are longer than some secrets
	return workspace.Read(stored.Set.Workspace(), limits)
}

// maxStamped bounds how many files of a folder are looked at for changes.
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

// changed adds the files that have changed to the evidence.
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
