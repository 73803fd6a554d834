// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/replay/look"
	"github.com/tapedeck/tapedeck/internal/replay/page"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
)

// Bounds of the reports that are shown.
const (
	maxReports     = 1000
	maxReportBytes = 256 << 20
)

// reports are the reports in some files and folders. They are read again when they change.
type reports struct {
	paths []string

	mu    sync.Mutex
	known map[string]*report // by path
}

// report is what is kept of one: the rest is read when it is shown.
type report struct {
	ID     string // in addresses
	Path   string
	Title  string
	Reason string
	Err    string
	Runs   int

	of   map[string]string // tenant and run → what became of it
	only map[string]bool   // the tenants of its runs
	size int64
	at   time.Time
}

func caseKey(tenant, runID string) string { return tenant + "\x00" + runID }

// visible tells whether a reader of one tenant may see a report, which quotes all of its runs.
func (r *report) visible(tenant string) bool {
	for of := range r.only {
		if !(deck.Location{Tenant: of}).Of(tenant) {
			return false
		}
	}
	return tenant == "" || r.Err == ""
}

// all returns the reports, the newest first, as far as the reader may see them.
func (r *reports) all(tenant string) (list []*report, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := map[string]*report{}
	for _, path := range r.paths {
		files := []string{path}
		if info, statErr := os.Stat(path); statErr != nil {
			err = errors.Join(err, statErr)
			continue
		} else if info.IsDir() {
			if files, statErr = filepath.Glob(filepath.Join(escapeGlob(path), "*.json")); statErr != nil {
				err = errors.Join(err, statErr)
			}
		}
		for _, file := range files {
			info, statErr := os.Stat(file)
			if len(now) == maxReports || statErr != nil || !info.Mode().IsRegular() {
				continue
			}
			have := r.known[file]
			if have == nil || have.size != info.Size() || !have.at.Equal(info.ModTime()) {
				have = describe(file, info)
			}
			now[file] = have
		}
	}
	r.known = now
	for _, one := range now {
		if one.ID != "" && one.visible(tenant) {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b *report) int {
		if c := b.at.Compare(a.at); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	return list, err
}

// escapeGlob is a path as a pattern for itself.
func escapeGlob(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// describe reads a report for the list. A file that is none has no ID.
func describe(file string, info os.FileInfo) *report {
	out := &report{Path: file, size: info.Size(), at: info.ModTime(), of: map[string]string{}, only: map[string]bool{}}
	sum := sha256.Sum256([]byte(file))
	written, err := read(file, info.Size())
	switch {
	case errors.Is(err, experiment.ErrNoReport):
		return out
	case err != nil:
		out.ID, out.Title, out.Err = hex.EncodeToString(sum[:6]), "A report that cannot be read", err.Error()
		return out
	}
	out.ID, out.Title, out.Reason = hex.EncodeToString(sum[:6]), written.Title(), written.Reason()
	for _, n := range written.Runs() {
		out.of[caseKey(n.Tenant, n.RunID)] = n.State
		out.only[n.Tenant] = true
		out.Runs++
	}
	return out
}

func read(file string, size int64) (*experiment.Written, error) {
	if size > maxReportBytes {
		return nil, fmt.Errorf("%d bytes are too many", size)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return experiment.ReadReport(data)
}

// reportsAbout are links to the reports that a run is in.
func (s *server) reportsAbout(t *tape.Tape) (list []page.Link) {
	all, err := s.reports.all(s.Tenant)
	if err != nil {
		list = append(list, page.Link{Text: "Reports of experiments cannot be read: " + err.Error()})
	}
	for _, r := range all {
		if state, ok := r.of[caseKey(t.Run.Tenant, t.Run.RunID)]; ok {
			list = append(list, page.Link{Text: r.Title, URL: "/report/" + r.ID, Note: strings.TrimSpace("this run: " + state + " · " + filepath.Base(r.Path))})
		}
	}
	return list
}

// reportList is the page of all reports.
func (s *server) reportList(w http.ResponseWriter, _ *http.Request) {
	all, err := s.reports.all(s.Tenant)
	v := struct {
		look.Head
		Error   string
		Reports []reportRow
	}{Head: look.Head{Title: "Reports of experiments", Linked: true}}
	if err != nil {
		v.Error = timeline.OneLine(err.Error())
	}
	for _, r := range all {
		v.Reports = append(v.Reports, reportRow{URL: "/report/" + r.ID, Name: timeline.Short(filepath.Base(r.Path), 80), Title: timeline.Short(r.Title, 200), Reason: timeline.Short(r.Reason+r.Err, 300),
			Written: r.at.UTC().Format("2006-01-02 15:04:05"), Runs: r.Runs})
	}
	write(w, func(b *bytes.Buffer) error { return pages.ExecuteTemplate(b, "reports", v) })
}

type reportRow struct {
	URL, Name, Title, Reason, Written string
	Runs                              int
}

// report is the page of one. Recorded runs are taken from the deck, whatever address the report names.
func (s *server) report(w http.ResponseWriter, r *http.Request) {
	all, _ := s.reports.all(s.Tenant) // one that cannot be listed is not there
	i := slices.IndexFunc(all, func(x *report) bool { return x.ID == r.PathValue("id") })
	if i < 0 {
		fail(w, &refused{http.StatusNotFound, "there is no such report"})
		return
	}
	written, err := read(all[i].Path, all[i].size)
	if err != nil {
		fail(w, &refused{http.StatusUnprocessableEntity, "the report cannot be shown: " + err.Error()})
		return
	}
	for _, n := range written.Runs() { // it may have been replaced since
		if !(deck.Location{Tenant: n.Tenant}).Of(s.Tenant) {
			fail(w, &refused{http.StatusNotFound, "there is no such report"})
			return
		}
	}
	open := func(ctx context.Context, c *experiment.Case) (*tape.Tape, error) {
		o, err := s.catalog.Open(ctx, c.RunID, c.Tenant, "")
		switch {
		case errors.Is(err, deck.ErrNotFound):
			return nil, errors.New("it is not in this deck")
		case err != nil:
			return nil, err
		case o.Tape.TapeID != c.TapeID:
			return nil, fmt.Errorf("its tape is %s now, the report is about %s", o.Tape.TapeID, c.TapeID)
		}
		return o.Tape, nil
	}
	link := func(c *experiment.Case) string {
		return "/run/" + url.PathEscape(c.RunID) + "?" + url.Values{"tenant": {c.Tenant}}.Encode()
	}
	w.Header().Set("Content-Security-Policy", look.Policy+"; frame-ancestors 'none'")
	write(w, func(b *bytes.Buffer) error { return written.HTML(r.Context(), b, "/", open, link) })
}
