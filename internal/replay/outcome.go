// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Outcome reads the outcome of the one run that a REF stands for: a tape or an execution snapshot.
func (r *Finder) Outcome(ctx context.Context, ref string) (o aiwg.Outcome, found Location, err error) {
	for at, err := range r.Resolve(ctx, ref, OneRun) {
		if err != nil {
			return o, at, err
		}
		data, err := at.content(ctx)
		found = at
		if err != nil {
			return o, at, fmt.Errorf("%s: %w", at, err)
		}
		if aiwg.Detect(data) {
			doc, err := aiwg.Read(data)
			if err != nil {
				return o, at, fmt.Errorf("%s: %w", at, err)
			}
			o = aiwg.OutcomeOfSnapshot(doc)
			continue
		}
		t, err := r.Take(at, data)
		if err != nil {
			return o, at, err
		}
		o = aiwg.OutcomeOf(t)
	}
	return o, found, nil
}

// Note puts the outcome of a comparison into the deck of the recorded run.
func Note(ctx context.Context, at Location, replayed aiwg.Outcome, result aiwg.Result, failure error, remark string) (err error) {
	record, err := aiwg.NewRecord(replayed, result, failure)
	if err != nil {
		return err
	}
	record.Note = remark
	body, err := record.Append(nil)
	if err != nil {
		return err
	}
	d, err := OpenDeck(ctx, at.Ref.DeckURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	_, err = d.PutReplayStatus(ctx, at.Ref.Location, at.Ref.Root, body)
	return err
}

// StatusOf composes what the deck of a run knows of its replays; absent for a run that lies in no deck.
func StatusOf(ctx context.Context, at Location) (exactjson.Value, error) {
	if !at.Ref.InDeck() {
		return exactjson.Value{}, nil
	}
	d, err := deck.New(ctx, at.Store, at.Ref.DeckURL) // resolve closes the store
	if err != nil {
		return exactjson.Value{}, err
	}
	files, err := d.ReplayStatuses(ctx, at.Ref.Location, at.Ref.Root)
	if err != nil {
		return exactjson.Value{}, err
	}
	var records []aiwg.Record
	for _, file := range files {
		r, err := aiwg.ReadRecord(file)
		if err != nil {
			return exactjson.Value{}, err
		}
		records = append(records, r)
	}
	return aiwg.ReplayStatus(records), nil
}
