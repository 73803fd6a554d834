// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"cmp"
	_ "embed"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/catalog"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/filter"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/replay/look"
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

// facets are the columns that a chip can ask for, by the name in an address.
var facets = []struct{ name, column, label string }{
	{"status", "status", "Status"}, {"grade", "grade", "Grade"}, {"agent", "agent", "Agent"}, {"service", "service", "Service"},
	{"tool", "tools", "Tool"}, {"model", "models", "Model"}, {"finding", "findings", "Finding"},
}

// ordered are the values of a facet that have an order of their own.
var ordered = map[string][]string{
	"status": {string(tape.StatusOK), string(tape.StatusError), string(tape.StatusInterrupted), string(tape.StatusIncomplete)},
	"grade":  {string(tape.GradeOffline), string(tape.GradeTools), string(tape.GradeModel), string(tape.GradePartial), string(tape.GradeInspect)},
}

// query is what the address of a list says. It is never changed, but for a copy.
type query map[string]string

func readQuery(q url.Values) query {
	out := query{}
	for _, name := range []string{"q", "area", "since", "until", "sort", "page"} {
		out[name] = q.Get(name)
	}
	for _, f := range facets {
		out[f.name] = q.Get(f.name)
	}
	if !slices.Contains(catalog.Sorts, out["sort"]) {
		out["sort"] = catalog.Sorts[0]
	}
	return out
}

// page is the number of the page of the list, from 0 on.
func (q query) page() int {
	at, _ := strconv.Atoi(q["page"])
	return min(max(at, 0), maxPages)
}

// with is the query with one thing else, from its first page on.
func (q query) with(name, value string) query {
	out := maps.Clone(q)
	delete(out, "page")
	out[name] = value
	return out
}

// address is the list with one thing else.
func (q query) address(name, value string) string {
	v := url.Values{}
	for key, text := range q.with(name, value) {
		if text != "" && (key != "sort" || text != catalog.Sorts[0]) {
			v.Set(key, text)
		}
	}
	return strings.TrimSuffix("/?"+v.Encode(), "?")
}

// condition matches what begins as a condition on a column.
var condition = regexp.MustCompile(`(?i)^[\s(]*(?:NOT\b[\s(]*)?([a-z_]+)\s*(?:[=<>!]|(?:IN|LIKE|BETWEEN|IS|NOT)\b)`)

// isCondition tells a condition from words to search for.
func isCondition(text string) bool {
	m := condition.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	_, known := (&reel.Meta{}).Value(strings.ToLower(m[1]))
	return known
}

func (q query) choice() catalog.Choice {
	c := catalog.Choice{Filter: filter.Filter{Since: q["since"], Until: q["until"], Area: q["area"], Listed: true}, Sort: q["sort"], Skip: q.page() * listRuns, Limit: listRuns, Dropped: true}
	if text := strings.TrimSpace(q["q"]); isCondition(text) {
		c.Where = text
	} else {
		c.Search = text
	}
	for _, f := range facets {
		if q[f.name] != "" {
			c.Is = append(c.Is, f.column+"="+q[f.name])
		}
	}
	return c
}

// chip is a link to the list with a filter more, or less.
type chip struct {
	Text, Count, Class, URL string
	On, Takes               bool // Takes: it takes its filter away
}

// group is a filter with the values that it can have.
type group struct {
	Label string
	Chips []chip
}

// chips are the values of all filters.
func (q query) chips(o *overview) (all []group) {
	for _, f := range facets {
		g := group{Label: f.label}
		values := o.most(f.column)
		if order := ordered[f.name]; order != nil {
			values = slices.DeleteFunc(slices.Clone(order), func(v string) bool { return o.values[f.column][v] == 0 && q[f.name] == "" })
		}
		if set := q[f.name]; set != "" && !slices.Contains(values, set) {
			values = append(values, set)
		}
		for _, v := range values {
			c := q.chip(f.name, v, v)
			if n := o.values[f.column][v]; n > 0 || c.On {
				c.Count = page.Grouped(int64(n))
			}
			if f.name == "status" {
				c.Class = page.Class(timeline.StatusStyle(v))
			}
			g.Chips = append(g.Chips, c)
		}
		all = append(all, g)
	}
	when := group{Label: "Started"}
	for _, age := range []string{"1h", "24h", "7d", "30d"} {
		when.Chips = append(when.Chips, q.chip("since", age, "last "+age))
	}
	if set := q["since"]; set != "" && !slices.ContainsFunc(when.Chips, func(c chip) bool { return c.On }) {
		when.Chips = append(when.Chips, q.chip("since", set, "from "+set))
	}
	if set := q["until"]; set != "" {
		when.Chips = append(when.Chips, q.chip("until", set, "until "+set))
	}
	where := group{Label: "Area"}
	for _, a := range deck.Areas() {
		where.Chips = append(where.Chips, q.chip("area", string(a), string(a)))
	}
	where.Chips = append(where.Chips, q.chip("area", filter.AllAreas, filter.AllAreas))
	return append(all, when, where)
}

// chip sets a value, or takes it away where it is set.
func (q query) chip(name, value, text string) chip {
	c := chip{Text: timeline.Short(text, 60), URL: q.address(name, value), On: q[name] == value, Takes: q[name] == value}
	if c.On {
		c.URL = q.address(name, "")
	}
	return c
}

// column is the head of a column of the list. One that the list can be ordered by leads there.
type column struct {
	Class, Text, URL string
	Sorted           bool
}

func (q query) columns() []column {
	all := []struct{ class, text, by string }{
		{"asked", "Question", ""}, {"who", "Agent and service", ""}, {"status", "Status", ""}, {"grade", "Grade", ""}, {"started", "Started", "started_at"}, {"num", "Took", "duration_ms"},
		{"num short some", "Model calls", "model_calls"}, {"num short some", "Tool calls", "tool_calls"}, {"num less", "Tokens in", ""}, {"num some", "Tokens out", "output_tokens"}, {"num less", "Findings", ""},
	}
	var out []column
	for _, c := range all {
		x := column{Class: c.class, Text: c.text, Sorted: c.by == q["sort"]}
		if c.by != "" && !x.Sorted {
			x.URL = q.address("sort", c.by)
		}
		out = append(out, x)
	}
	return out
}

// orders are the columns that the list can be ordered by, for screens that show no head.
func (q query) orders() group {
	g := group{Label: "Order"}
	for _, c := range q.columns() {
		if c.URL != "" || c.Sorted {
			g.Chips = append(g.Chips, chip{Text: c.Text, URL: cmp.Or(c.URL, q.address("sort", q["sort"])), On: c.Sorted})
		}
	}
	return g
}

// row is a run of the list.
type row struct {
	URL, ID, Short, Started, At, Agent, Service, Status, Class, Error, ErrorName string
	Grade, GradeClass                                                            string
	Took, ModelCalls, ToolCalls, In, Out, Asked, Area, Tenant                    string
	Findings                                                                     int
}

func newRow(r *view.Run, now time.Time) row {
	m := &r.Meta
	number := func(n *int64) string {
		if n == nil {
			return "–"
		}
		return page.Grouped(*n)
	}
	x := row{URL: address(r.Ref, ""), ID: r.Ref.Qualified(), Short: timeline.Short(m.RunID, 9), Agent: timeline.Short(m.Agent, 80), Service: timeline.Short(m.Service, 80),
		Status: timeline.Short(m.Status, 20), Class: page.Class(timeline.StatusStyle(m.Status)), Error: timeline.Short(m.ErrorType, 80),
		Grade: timeline.Short(m.Grade, 20), GradeClass: page.Class(timeline.GradeStyle(tape.Grade(m.Grade))), Asked: timeline.Short(m.UserMessage, 240),
		ModelCalls: number(m.ModelCalls), ToolCalls: number(m.ToolCalls), In: number(m.InputTokens), Out: number(m.OutputTokens),
		Area: string(r.Ref.Location.Area), Tenant: timeline.Short(m.Tenant, 40), Findings: len(m.Findings)}
	x.ErrorName = x.Error[strings.LastIndexByte(x.Error, '.')+1:]
	if m.Dropped() {
		x.Asked = "(content not kept)"
	}
	if m.StartedAt != 0 {
		at := time.UnixMicro(m.StartedAt).UTC()
		layout := "2 Jan 15:04:05"
		if at.Year() != now.Year() {
			layout = "2006-01-02 15:04"
		}
		x.Started, x.At = at.Format(layout), at.Format(time.RFC3339)
	}
	if m.DurationMS > 0 {
		x.Took = timeline.Duration(m.DurationMS)
	}
	return x
}

// listView is what the page of the list shows.
type listView struct {
	look.Head
	Name, Deck, Error, Text string
	Fields                  [][2]string // of the query, beside its text
	Chips, More             []group
	Histogram               *histogram
	Columns                 []column
	Rows                    []row
	Earlier, Later          string
	Unread                  int
	Total, First, Last      string
	Refused                 bool // the filter
	Tenants, Filtered       bool
	Reports, Wider          bool
}

// deckName is the address of a deck as a title: no scheme, no query, no folders around it.
func deckName(address string) string {
	name, _, _ := strings.Cut(address, "?")
	_, rest, remote := strings.Cut(name, "://")
	if parts := strings.Split(strings.Trim(name, "/"), "/"); !remote {
		return timeline.Short(parts[len(parts)-1], 60)
	}
	return timeline.Short(strings.Trim(rest, "/"), 60)
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	q, now := readQuery(r.URL.Query()), s.Now()
	v := listView{Name: cmp.Or(deckName(s.Address), "deck"), Deck: timeline.OneLine(s.Address), Text: q["q"], Tenants: s.Tenant == "", Reports: len(s.Config.Reports) > 0, Columns: q.columns(),
		Wider: q["area"] == ""}
	v.Head = look.Head{Title: "Runs · " + v.Name, Linked: true}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if name != "q" && name != "page" && q[name] != "" {
			v.Fields = append(v.Fields, [2]string{name, q[name]})
			v.Filtered = v.Filtered || name != "sort"
		}
	}
	v.Filtered = v.Filtered || v.Text != ""
	all, choice := newOverview(), q.choice()
	choice.Each = all.see
	found, err := s.catalog.List(r.Context(), choice, now)
	status := http.StatusOK
	if err != nil {
		v.Refused = true
		v.Error, status = timeline.OneLine(strings.TrimPrefix(err.Error(), "--")), http.StatusBadRequest
		found = &catalog.Listing{}
	}
	if v.Unread = found.Unread; v.Unread > 0 {
		v.Error = timeline.OneLine(found.Cause.Error())
	}
	for i := range found.Runs {
		v.Rows = append(v.Rows, newRow(&found.Runs[i], now))
	}
	groups := q.chips(all)
	v.Chips, v.More = groups[:2], append(groups[2:], q.orders())
	v.Histogram = all.bins.histogram(q)
	number := func(n int) string { return page.Grouped(int64(n)) }
	v.Total, v.First, v.Last = number(all.total)+" runs", number(q.page()*listRuns+1), number(q.page()*listRuns+len(v.Rows))
	if all.total == 1 {
		v.Total = "1 run"
	}
	if at := q.page(); at > 0 {
		v.Earlier = q.address("page", strconv.Itoa(at-1))
	}
	if at := q.page(); found.More && at < maxPages {
		v.Later = q.address("page", strconv.Itoa(at+1))
	}
	writeStatus(w, status, func(b *bytes.Buffer) error { return pages.ExecuteTemplate(b, "list", v) })
}
