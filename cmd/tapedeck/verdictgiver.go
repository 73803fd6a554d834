// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/deck/verdictrecord"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/tape"
)

// verdictGiver finds runs of a deck and gives verdicts to them.
type verdictGiver struct {
	finder   replay.Finder
	deck     *deck.Deck
	redactor *redact.Redactor
	guard    keyGuard
	options  derive.Options
}

// newVerdictGiver opens the deck of the finder.
func newVerdictGiver(ctx context.Context, finder replay.Finder, r *redactionFlags, options derive.Options, stderr io.Writer) (*verdictGiver, error) {
	g := &verdictGiver{finder: finder, options: options}
	var err error
	if g.options.Gate, err = r.gate(); err != nil {
		return nil, err
	}
	if g.redactor, err = r.open(stderr); err != nil {
		return nil, err
	}
	if g.deck, err = replay.OpenDeck(ctx, finder.Deck); err != nil {
		return nil, err
	}
	g.guard = r.guard(g.deck, g.redactor)
	if err := g.guard.wholeDeck(ctx, finder.Tenant, sampledTapes); err != nil {
		return nil, errors.Join(err, g.deck.Close())
	}
	return g, nil
}

// find returns the run of an id. Whether an undecided run is production or a replay a verdict must not say.
func (g *verdictGiver) find(ctx context.Context, id string) (*tape.Tape, error) {
	t, at, err := g.finder.OpenOne(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case at.Deck == nil:
		return nil, errors.New("a verdict needs the id of a run in the deck, for it is kept there")
	case strings.HasPrefix(at.Ref.Key, string(deck.AreaUndecided)+"/"):
		return nil, fmt.Errorf("run %s is undecided: whether it is production or a replay is not known yet", t.Run.RunID)
	}
	return t, nil
}

// give writes a verdict.
func (g *verdictGiver) give(ctx context.Context, t *tape.Tape, v verdictrecord.Verdict) error {
	w := &ingest.Writer{Options: g.options, Tenant: t.Run.Tenant, NoJoin: true, SameKey: g.guard.trace}
	return verdictrecord.Give(ctx, g.deck, w, g.redactor, t, v)
}

// given is the line about a verdict that is in the deck.
type given struct {
	RunID string `json:"run_id"`
	verdictrecord.Verdict
}

// maxVerdict bounds a request, in bytes.
const maxVerdict = 1 << 18

// ServeHTTP takes a verdict: a JSON object with the id of a run and the members of a verdict.
func (g *verdictGiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // a client that is gone
	}
	fail := func(status int, err error) { answer(status, map[string]string{"error": err.Error()}) }
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		fail(http.StatusMethodNotAllowed, errors.New("a verdict is posted"))
		return
	}
	var asked given
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxVerdict))
	d.DisallowUnknownFields()
	if err := d.Decode(&asked); err != nil {
		status := http.StatusBadRequest
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			status = http.StatusRequestEntityTooLarge
		}
		fail(status, err)
		return
	}
	if err := asked.Check(); err != nil {
		fail(http.StatusBadRequest, err)
		return
	}
	if !replay.IDForm.MatchString(asked.RunID) { // no paths and addresses
		fail(http.StatusBadRequest, errors.New("run_id is no run id and no trace id"))
		return
	}
	if asked.At.IsZero() {
		asked.At = time.Now().UTC()
	}
	t, err := g.find(r.Context(), asked.RunID)
	if err != nil {
		fail(http.StatusNotFound, err)
		return
	}
	if err := g.give(r.Context(), t, asked.Verdict); err != nil {
		fail(http.StatusUnprocessableEntity, err)
		return
	}
	asked.RunID = t.Run.RunID
	answer(http.StatusCreated, asked)
}
