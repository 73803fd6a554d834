// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/scrub"
	"github.com/tapedeck/tapedeck/internal/deck/scrub/independent"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/tape"
)

// problemSecret is the code of a value that redaction should have replaced.
const problemSecret = "secret"

// secrets searches what one REF stands for: all objects of a deck, whatever they are, or the files of a run and its evidence.
func (c *verification) secrets(ctx context.Context, ref string, s scrub.Searcher) error {
	searched := 0
	if d, err := wholeDeckOf(ctx, ref); err != nil {
		return err
	} else if d != nil {
		err := c.searchBelow(ctx, d.Store(), "", everything, d.String()+"/", s, &searched)
		return errors.Join(err, c.searched(ctx, ref, searched), d.Close())
	}
	for at, err := range c.refs.Resolve(ctx, ref, replay.SeveralRuns) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = c.searchRun(ctx, at, s, &searched)
		}
		if err != nil {
			c.worst(exitFailed)
			complain(c.stderr, err)
		}
	}
	return c.searched(ctx, ref, searched)
}

// wholeDeckOf opens the deck that a REF is; nil if it is something else.
func wholeDeckOf(ctx context.Context, ref string) (*deck.Deck, error) {
	if base, _ := replay.SplitURL(ref); ref == "" || replay.IDForm.MatchString(ref) || path.Base(base) == deck.TapeFile {
		return nil, nil
	}
	d, err := replay.OpenDeck(ctx, ref)
	if err != nil {
		return nil, nil // resolve says what is wrong with it
	}
	return d, nil
}

func (c *verification) searchRun(ctx context.Context, at replay.Location, s scrub.Searcher, searched *int) error {
	var t *tape.Tape
	var files map[string][]byte
	err := at.Reading(ctx, func() error {
		data, err := at.Read(ctx, at.Ref.Key)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if _, err := tape.Read(data); err == nil {
			t, files, err = at.LoadWith(ctx, data)
			return err
		}
		t, files = nil, map[string][]byte{tape.TapeFile: data}
		content, err := at.Read(ctx, at.Sibling(deck.OracleFile))
		if err == nil {
			files[deck.OracleFile] = content
		} else if !errors.Is(err, deck.ErrNotFound) {
			return fmt.Errorf("%s: %s: %w", at, deck.OracleFile, err)
		}
		return nil
	})
	if err != nil && (t == nil || !errors.Is(err, deck.ErrNotFound)) {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		key, shown := name, name
		if name == tape.TapeFile {
			key, shown = at.Ref.Key, path.Base(at.Ref.Key)
		}
		*searched++
		if err := c.object(ctx, scrub.Search(key, files[name], s), path.Dir(at.String())+"/"+shown); err != nil {
			return err
		}
	}
	traces := []string{at.Ref.Location.TraceID}
	if t != nil && at.Ref.Location.Area == deck.AreaJoined {
		traces = t.Sources.TraceIDs // there lies its evidence
	}
	if !at.Ref.InDeck() {
		return nil
	}
	root, _ := replay.SplitURL(at.Ref.DeckURL)
	for _, trace := range traces {
		location := at.Ref.Location
		if location.TraceID = trace; location.Area == deck.AreaJoined {
			location.Area = deck.AreaRuns
		}
		if location.Validate() != nil {
			continue // an id that a file made up
		}
		if err := c.searchBelow(ctx, at.Store, location.Prefix()+"/", isEvidence, root+"/", s, searched); err != nil {
			return err
		}
	}
	return nil
}

func everything(string) bool { return true }

// isEvidence tells whether a key is that of a part, or of a file that a dead writer has left.
func isEvidence(key string) bool {
	return strings.HasSuffix(key, deck.PartSuffix) || strings.HasPrefix(path.Base(key), deck.TempPrefix)
}

func (c *verification) searchBelow(ctx context.Context, store deck.Store, prefix string, wanted func(key string) bool, root string, s scrub.Searcher, searched *int) error {
	for o, err := range scrub.Store(ctx, store, prefix, s) {
		if err != nil {
			return err
		}
		if !wanted(o.Key) {
			continue
		}
		*searched++
		if err := c.object(ctx, o, root+o.Key); err != nil {
			return err
		}
	}
	return nil
}

// object reports one object in which something was found, or which could not be searched, and gives it to the independent scanner.
func (c *verification) object(ctx context.Context, o scrub.Object, url string) error {
	v := replay.Verdict{URL: url, OK: o.Clear(), Problems: []replay.Problem{}}
	if o.Err != nil {
		v.Error = fmt.Sprintf("%s: %v", url, o.Err)
		c.worst(exitFailed)
		say(c.stderr, "%s", v.Error)
	}
	for _, hit := range o.Hits {
		v.Problems = append(v.Problems, replay.Problem{Code: problemSecret, Path: hit.Path, Detail: "rule " + hit.Rule})
	}
	if err := c.found(v); err != nil || o.Err != nil || c.scan == nil {
		return err
	}
	return c.foundByScanner(c.scan.Add(ctx, url, o.Key, o.Body))
}

// foundByScanner reports what the independent scanner found, object by object.
func (c *verification) foundByScanner(findings []independent.Finding, err error) error {
	if err != nil {
		return err
	}
	for len(findings) > 0 {
		v := replay.Verdict{URL: findings[0].URL, Problems: []replay.Problem{}}
		for len(findings) > 0 && findings[0].URL == v.URL {
			v.Problems = append(v.Problems, replay.Problem{Code: problemSecret, Path: findings[0].Path, Detail: c.scanner.String() + " " + findings[0].Rule})
			findings = findings[1:]
		}
		if err := c.found(v); err != nil {
			return err
		}
	}
	return nil
}

// found prints a verdict on an object that is not clear.
func (c *verification) found(v replay.Verdict) error {
	if v.OK {
		return nil
	}
	if len(v.Problems) > 0 {
		c.worst(exitPartial)
	}
	if c.asJSON {
		return c.report(v)
	}
	var b bytes.Buffer
	if len(v.Problems) > 0 {
		fmt.Fprintf(&b, "failed %s %d secrets\n", oneLine(v.URL), len(v.Problems))
	}
	for _, p := range v.Problems {
		fmt.Fprintf(&b, "  %s %s: %s\n", p.Code, oneLine(p.Path), oneLine(p.Detail))
	}
	_, err := c.stdout.Write(b.Bytes())
	return err
}

// searchSummary ends the report on a REF in JSON: a search that found nothing says what searched.
type searchSummary struct {
	Ref         string `json:"ref"`
	Objects     int    `json:"objects"`
	Independent string `json:"independent_scanner"` // "none", or the name of the scanner
}

// searched ends the report on a REF.
func (c *verification) searched(ctx context.Context, ref string, objects int) error {
	sum := searchSummary{Ref: ref, Objects: objects, Independent: "none"}
	if c.scan != nil {
		if err := c.foundByScanner(c.scan.Flush(ctx)); err != nil {
			return err
		}
		sum.Independent = c.scanner.String()
	}
	if objects == 0 && c.code == exitOK {
		c.worst(exitFailed)
		say(c.stderr, "%s holds nothing to search", ref)
	}
	by := "by the rules of redaction alone; no independent scanner was used (--with)"
	if c.scan != nil {
		by = "by the rules of redaction and by " + sum.Independent
	}
	say(c.stderr, "%s: %d objects searched, %s", ref, objects, by)
	if c.asJSON {
		return printLine(c.stdout, sum)
	}
	return nil
}
