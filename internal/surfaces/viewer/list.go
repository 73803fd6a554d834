// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"cmp"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/catalog"
	"github.com/tapedeck/tapedeck/internal/deck/reel/filter"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/replay/page"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
)

//go:embed list.html
var listText string

var pages = template.Must(page.Templates().Parse(listText))

const (
	listRuns = 100 // on a page
	maxPages = 100
)

// sortNames are the columns that the list can be ordered by, as people call them.
var sortNames = map[string]string{"started_at": "Started", "duration_ms": "Took", "model_calls": "Model calls", "tool_calls": "Tool calls", "output_tokens": "Tokens out"}

// query is what the address of a list says.
type query struct {
	Search, Agent, Status, Grade, Tool, Model, Finding, Area, Since, Where, Sort string
	Page                                                                         int
}

func readQuery(q url.Values) query {
	at, _ := strconv.Atoi(q.Get("page"))
	x := query{Search: q.Get("q"), Agent: q.Get("agent"), Status: q.Get("status"), Grade: q.Get("grade"), Tool: q.Get("tool"), Model: q.Get("model"), Finding: q.Get("finding"), Area: q.Get("area"), Since: q.Get("since"),
		Where: q.Get("where"), Sort: q.Get("sort"), Page: min(max(at, 0), maxPages)}
	if !slices.Contains(catalog.Sorts, x.Sort) {
		x.Sort = catalog.Sorts[0]
	}
	return x
}

// address is the list with one thing else.
func (q query) address(name, value string) string {
	v := url.Values{}
	for key, text := range map[string]string{"q": q.Search, "agent": q.Agent, "status": q.Status, "grade": q.Grade, "tool": q.Tool, "model": q.Model, "finding": q.Finding, "area": q.Area, "since": q.Since, "where": q.Where, "sort": q.Sort} {
		if text != "" {
			v.Set(key, text)
		}
	}
	v.Set(name, value)
	return "/?" + v.Encode()
}

func (q query) choice() catalog.Choice {
	c := catalog.Choice{Filter: filter.Filter{Where: q.Where, Since: q.Since, Area: q.Area, Listed: true}, Search: q.Search, Sort: q.Sort, Skip: q.Page * listRuns, Limit: listRuns}
	for _, is := range [][2]string{{"agent", q.Agent}, {"status", q.Status}, {"grade", q.Grade}, {"tools", q.Tool}, {"models", q.Model}, {"findings", q.Finding}} {
		if is[1] != "" {
			c.Is = append(c.Is, is[0]+"="+is[1])
		}
	}
	return c
}

// row is a run of the list.
type row struct {
	URL, Short, Started, Agent, Status, Class, Error, Grade, GradeClass string
	Took, Calls, Tokens, Asked, Area, Tenant                            string
	Findings                                                            int
}

func newRow(r *view.Run) row {
	m := &r.Meta
	x := row{URL: address(r.Ref, ""), Short: timeline.Short(m.RunID, 9), Agent: timeline.Short(cmp.Or(m.Agent, m.Service, "(no name)"), 40), Status: timeline.OneLine(m.Status), Class: page.Class(timeline.StatusStyle(m.Status)), Error: timeline.Short(m.ErrorType, 30),
		Grade: timeline.OneLine(m.Grade), GradeClass: page.Class(timeline.GradeStyle(tape.Grade(m.Grade))), Asked: timeline.Short(m.UserMessage, 120), Area: string(r.Ref.Location.Area), Tenant: timeline.OneLine(m.Tenant), Findings: len(m.Findings)}
	if m.StartedAt != 0 {
		x.Started = time.UnixMicro(m.StartedAt).UTC().Format("2006-01-02 15:04:05")
	}
	if m.DurationMS > 0 {
		x.Took = timeline.Duration(m.DurationMS)
	}
	number := func(n *int64) string {
		if n == nil {
			return "?"
		}
		return strconv.FormatInt(*n, 10)
	}
	x.Calls, x.Tokens = number(m.ModelCalls)+" / "+number(m.ToolCalls), number(m.InputTokens)+" / "+number(m.OutputTokens)
	return x
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	q := readQuery(r.URL.Query())
	v := struct {
		Title, Deck, Error string
		Site               *page.Site
		Query              query
		Rows               []row
		Sorts              []page.Link
		Earlier, Later     string
		Unread             int
		First, Last        int
		Tenants, Several   bool
		Areas, Statuses    []string
		Grades             []string
		Filtered, Reports  bool
	}{Title: "Runs in " + timeline.Short(s.Address, 80), Deck: timeline.OneLine(s.Address), Site: &page.Site{Home: "/"}, Query: q, Tenants: s.Tenant == "", Reports: len(s.Config.Reports) > 0}
	for _, a := range deck.Areas() {
		v.Areas = append(v.Areas, string(a))
	}
	v.Areas = append(v.Areas, filter.AllAreas)
	v.Statuses = []string{string(tape.StatusOK), string(tape.StatusError), string(tape.StatusInterrupted), string(tape.StatusIncomplete)}
	v.Grades = []string{string(tape.GradeOffline), string(tape.GradeTools), string(tape.GradeModel), string(tape.GradePartial), string(tape.GradeInspect)}
	for _, column := range catalog.Sorts {
		l := page.Link{Text: sortNames[column], URL: q.address("sort", column)}
		if column == q.Sort {
			l.URL = ""
		}
		v.Sorts = append(v.Sorts, l)
	}
	found, err := s.catalog.List(r.Context(), q.choice(), s.Now())
	if err != nil {
		v.Error = timeline.OneLine(err.Error())
		writeStatus(w, http.StatusBadRequest, func(b *bytes.Buffer) error { return pages.ExecuteTemplate(b, "list", v) })
		return
	}
	if v.Unread = found.Unread; v.Unread > 0 {
		v.Error = timeline.OneLine(found.Cause.Error())
	}
	for i := range found.Runs {
		v.Rows = append(v.Rows, newRow(&found.Runs[i]))
		v.Several = v.Several || v.Rows[i].Area != v.Rows[0].Area
	}
	v.First, v.Last = q.Page*listRuns+1, q.Page*listRuns+len(v.Rows)
	if q.Page > 0 {
		v.Earlier = q.address("page", strconv.Itoa(q.Page-1))
	}
	if found.More && q.Page < maxPages {
		v.Later = q.address("page", strconv.Itoa(q.Page+1))
	}
	v.Filtered = r.URL.RawQuery != ""
	write(w, func(b *bytes.Buffer) error { return pages.ExecuteTemplate(b, "list", v) })
}
