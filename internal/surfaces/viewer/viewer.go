// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package viewer shows a deck in a browser: the list of its runs, each run, its evidence, two runs side by side. It only reads. Pages are
// rendered here and need no script to be read; the one script adds keys and buttons. What a tape holds reaches a page as text only, and the
// policy of every answer lets a page load nothing but the style sheet and the script of this package.
package viewer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/catalog"
	"github.com/tapedeck/tapedeck/internal/deck/oracles"
	"github.com/tapedeck/tapedeck/internal/deck/scrub"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/replay/look"
	"github.com/tapedeck/tapedeck/internal/replay/page"
	"github.com/tapedeck/tapedeck/internal/replay/sidebyside"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// Config is what a viewer shows, and to whom.
type Config struct {
	Deck *deck.Deck
	// Address is the deck as commands take it.
	Address string
	// Tenant is the only tenant whose runs are shown; "" is all.
	Tenant string
	// Token is what a browser must have sent once, or a client sends as a bearer; "" asks for none.
	Token string
	// LocalOnly refuses requests for a host that is not loopback, so that no page of another name reads the deck.
	LocalOnly bool
	// SearchLimit bounds the search for ids that the layout of the deck does not know.
	SearchLimit int
	// Reports are files and folders with reports of experiments and comparisons as JSON, shown beside the runs that they are about.
	Reports []string
	Now     func() time.Time
}

type server struct {
	Config
	catalog catalog.Catalog
	reports reports
	watch   scrub.Watch
	mux     http.ServeMux
}

//go:embed view.js
var script string

// policy lets a page have the style sheet and the script of this package, and send its forms here.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// New returns the viewer.
func New(c Config) http.Handler {
	s := &server{Config: c, catalog: catalog.Catalog{Deck: c.Deck, Tenant: c.Tenant, SearchLimit: c.SearchLimit}, reports: reports{paths: c.Reports}}
	if s.Now == nil {
		s.Now = time.Now
	}
	s.mux.HandleFunc("GET /{$}", s.list)
	s.mux.HandleFunc("GET /run/{id}", s.ofRun(s.run))
	s.mux.HandleFunc("GET /run/{id}/text", s.ofRun(s.text))
	s.mux.HandleFunc("GET /run/{id}/evidence", s.ofRun(s.evidence))
	s.mux.HandleFunc("GET /run/{id}/{file}", s.ofRun(s.file))
	s.mux.HandleFunc("GET /diff", s.diff)
	s.mux.HandleFunc("GET /reports", s.reportList)
	s.mux.HandleFunc("GET /report/{id}", s.report)
	s.mux.HandleFunc("GET /static/style.css", static("text/css; charset=utf-8", look.Style))
	s.mux.HandleFunc("GET /static/view.js", static("text/javascript; charset=utf-8", script))
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return s
}

func static(kind, content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write([]byte(content))
	}
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case s.LocalOnly && !oraclehttp.LocalHost(r.Host):
		http.Error(w, "this server answers requests for localhost only", http.StatusForbidden)
	case (site == "cross-site" || site == "same-site") && (r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"):
		http.Error(w, "other pages may link here and no more", http.StatusForbidden)
	case !s.authorised(w, r):
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// cookie holds the digest of the token, not the token.
const cookie = "tapedeck_view"

// authorised answers requests without the token, and reports whether it has not. A token in the address becomes a cookie, and the address
// is asked for again without it.
func (s *server) authorised(w http.ResponseWriter, r *http.Request) bool {
	if s.Token == "" || r.URL.Path == "/healthz" {
		return true
	}
	same := func(a, b string) bool {
		x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
		return subtle.ConstantTimeCompare(x[:], y[:]) == 1
	}
	sum := sha256.Sum256([]byte("tapedeck view " + s.Token))
	want := hex.EncodeToString(sum[:])
	if c, err := r.Cookie(cookie); err == nil && same(c.Value, want) {
		return true
	}
	if scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") && same(strings.TrimSpace(sent), s.Token) {
		return true
	}
	q := r.URL.Query()
	if q.Has("token") && same(q.Get("token"), s.Token) {
		q.Del("token")
		http.SetCookie(w, &http.Cookie{Name: cookie, Value: want, Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode})
		to := url.URL{Path: path.Clean("/" + r.URL.Path), RawQuery: q.Encode()}
		http.Redirect(w, r, to.String(), http.StatusSeeOther)
		return false
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	http.Error(w, "a token is needed: open the address that tapedeck view has printed", http.StatusUnauthorized)
	return false
}

// refused is why there is no page, for whoever asked for it.
type refused struct {
	status int
	text   string
}

func (e *refused) Error() string { return e.text }

func fail(w http.ResponseWriter, err error) {
	var r *refused
	var several *catalog.Several
	v := refusal{Head: look.Head{Title: "Nothing to show", Linked: true}}
	status := http.StatusBadGateway
	switch {
	case errors.As(err, &r):
		v.Text, status = r.text, r.status
	case errors.As(err, &several):
		v.Text, status = several.Error(), http.StatusMultipleChoices
		for _, r := range several.Refs[:min(len(several.Refs), 20)] {
			v.Links = append(v.Links, address(r, ""))
		}
	case errors.Is(err, deck.ErrDropped):
		v.Text, status = "the content of this run was not kept: the keep policy of the collector that wrote it did not take it", http.StatusNotFound
	case errors.Is(err, deck.ErrNotFound):
		v.Text, status = "there is no such run in this deck", http.StatusNotFound
	case errors.Is(err, tape.ErrAltered):
		v.Text, status = "the digest of this tape does not hold: somebody has changed it. tapedeck verify lists the damage", http.StatusConflict
	case errors.Is(err, context.Canceled):
		return
	default:
		v.Text = err.Error()
	}
	v.Text = timeline.OneLine(v.Text)
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, "refused", v); err != nil {
		http.Error(w, v.Text, status)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// refusal is the page that says why there is no other.
type refusal struct {
	look.Head
	Text  string
	Links []string // of what may have been meant
}

// ofRun finds the run of a request. Query parameters tell runs of one id apart.
func (s *server) ofRun(serve func(http.ResponseWriter, *http.Request, *catalog.Run)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		o, err := s.catalog.Open(r.Context(), r.PathValue("id"), q.Get("tenant"), q.Get("area"))
		if err != nil {
			fail(w, err)
			return
		}
		serve(w, r, o)
	}
}

// address is the page of a run, or what lies below it.
func address(r deck.Ref, below string) string {
	q := url.Values{"tenant": {r.Location.Tenant}, "area": {string(r.Location.Area)}}
	return "/run/" + url.PathEscape(r.RunID()) + below + "?" + q.Encode()
}

// site is where the pages of a run are. Its addresses name the run in full.
func (s *server) site(o *catalog.Run) *page.Site {
	return &page.Site{Home: "/", Self: "/run/" + url.PathEscape(o.Ref.RunID()), Query: url.Values{"tenant": {o.Ref.Location.Tenant}, "area": {string(o.Ref.Location.Area)}}.Encode(),
		Links: []page.Link{
			{Text: "Evidence", URL: address(o.Ref, "/evidence")}, {Text: "tape.json", URL: address(o.Ref, "/"+tape.TapeFile)}, {Text: "oracle.json", URL: address(o.Ref, "/oracle.json")},
		}}
}

func (s *server) run(w http.ResponseWriter, r *http.Request, o *catalog.Run) {
	options := page.Options{Ref: o.Tape.Run.RunID, Deck: s.Address, Site: s.site(o), From: number(r, "from"), Find: strings.TrimSpace(r.URL.Query().Get("find"))}
	exposed, err := s.watch.Look(o.Tape, o.Data, true)
	if err != nil {
		fail(w, err)
		return
	}
	if exposed != nil {
		options.Warning = exposed.String()
	}
	if options.Oracle, err = oracles.Entries(r.Context(), s.Deck.Store(), o.Ref.Key); err != nil {
		options.Oracle = nil
		options.Replays = append(options.Replays, page.Link{Text: "The oracle beside the tape cannot be used: " + err.Error()})
	}
	options.Replays = append(options.Replays, s.replays(r.Context(), o)...)
	options.Replays = append(options.Replays, s.reportsAbout(o.Tape)...)
	write(w, func(b *bytes.Buffer) error { return page.Run(b, o.Tape, options) })
}

// replays are what the deck knows of replays of a run, and of which run it is a replay.
func (s *server) replays(ctx context.Context, o *catalog.Run) (list []page.Link) {
	side := func(a, b string) string { return "/diff?" + url.Values{"a": {a}, "b": {b}}.Encode() }
	if of := o.Tape.Extensions.Get("replay").Get("of").Str(); of != "" {
		list = append(list, page.Link{Text: "This run is a replay of " + of, URL: "/run/" + url.PathEscape(of)},
			page.Link{Text: "Both side by side", URL: side(of, o.Tape.Run.RunID)})
	}
	list = append(list, page.Link{Text: "Replays of this run in the deck", URL: "/?" + url.Values{"q": {"replay_of = '" + o.Ref.RunID() + "'"}}.Encode()})
	files, err := s.Deck.ReplayStatuses(ctx, o.Ref.Location, o.Ref.Root)
	if err != nil {
		return append(list, page.Link{Text: "What the deck knows of its replays cannot be read: " + err.Error()})
	}
	for _, file := range files {
		record, err := aiwg.ReadRecord(file)
		if err != nil {
			list = append(list, page.Link{Text: "A note of a replay cannot be read: " + err.Error()})
			continue
		}
		l := page.Link{Text: "Replay of " + record.ReplayedAt.UTC().Format("2006-01-02 15:04:05"), Note: strings.TrimSpace(record.Error + " " + record.Note)}
		if record.Result != nil {
			l.Text += fmt.Sprintf(": %s, %.2f alike", cmp.Or(string(record.Result.Status), "compared"), record.Result.Score)
			l.URL = side(o.Tape.Run.RunID, record.Result.Replayed)
		}
		list = append(list, l)
	}
	return list
}

func (s *server) text(w http.ResponseWriter, r *http.Request, o *catalog.Run) {
	write(w, func(b *bytes.Buffer) error {
		ok, err := page.Text(b, o.Tape, page.Options{Site: s.site(o)}, r.URL.Query().Get("path"), number(r, "from"))
		if err == nil && !ok {
			err = &refused{http.StatusNotFound, "the run has no such text"}
		}
		return err
	})
}

// file sends a file of the run as it is stored, for a program or to keep: never as something that a browser shows.
func (s *server) file(w http.ResponseWriter, r *http.Request, o *catalog.Run) {
	data := o.Data
	switch name := r.PathValue("file"); name {
	case tape.TapeFile:
	case "oracle.json":
		entries, err := oracles.Entries(r.Context(), s.Deck.Store(), o.Ref.Key)
		if err != nil {
			fail(w, err)
			return
		}
		data = oracle.Append(nil, entries)
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", strings.TrimSuffix(r.PathValue("file"), ".json")+"-"+o.Ref.RunID()+".json"))
	_, _ = w.Write(data)
}

// Bounds of the evidence of a trace as it is shown.
const (
	evidenceItems = 20_000
	evidenceBytes = 256 << 20
)

func (s *server) evidence(w http.ResponseWriter, r *http.Request, o *catalog.Run) {
	ctx := r.Context()
	parts, err := s.Deck.Parts(ctx, o.Ref.Location)
	if err != nil {
		fail(w, err)
		return
	}
	union := evidence.NewUnion(evidence.Bounds{Items: evidenceItems, Bytes: evidenceBytes}, nil)
	var notes []string
	for _, digest := range parts {
		part, err := s.Deck.ReadPart(ctx, o.Ref.Location, digest)
		var set *evidence.Set
		if err == nil {
			set, err = evidence.FromPart(part)
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("part %s cannot be read: %v", digest, err))
			continue
		}
		union.Add(set)
	}
	set, cut := union.Set()
	if cut {
		notes = append(notes, "the trace is larger than what is shown")
	}
	if len(parts) == 0 {
		notes = append(notes, "no evidence of this run lies at its place; a joined run has that of its traces")
	}
	items := set.Items()
	slices.SortStableFunc(items, func(a, b evidence.Item) int {
		return cmp.Compare(a.Span.StartTimestamp(), b.Span.StartTimestamp())
	})
	from := min(number(r, "from"), len(items))
	var spans []page.Span
	for _, item := range items[from:min(from+page.EvidencePage, len(items))] {
		spans = append(spans, span(item))
	}
	write(w, func(b *bytes.Buffer) error {
		return page.Evidence(b, o.Tape, s.site(o), spans, from, len(items), notes)
	})
}

func span(i evidence.Item) page.Span {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	i.Resource.Resource().CopyTo(rs.Resource())
	ss := rs.ScopeSpans().AppendEmpty()
	i.Scope.Scope().CopyTo(ss.Scope())
	i.Span.CopyTo(ss.Spans().AppendEmpty())
	out := page.Span{ID: i.Span.SpanID().String(), Parent: i.Span.ParentSpanID().String(), Name: i.Span.Name(), Scope: i.Scope.Scope().Name(),
		Start: i.Span.StartTimestamp().AsTime(), Took: time.Duration(i.Span.EndTimestamp() - i.Span.StartTimestamp()), Failed: i.Span.Status().Code() == ptrace.StatusCodeError}
	if text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td); err == nil {
		out.JSON = string(text)
	}
	return out
}

// diff shows two runs side by side.
func (s *server) diff(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	ids := q["run"] // as the list sends them
	if len(ids) == 0 {
		ids = []string{q.Get("a"), q.Get("b")}
	}
	if len(ids) != 2 {
		fail(w, &refused{http.StatusBadRequest, fmt.Sprintf("Two runs can be compared, and %d were checked.", len(ids))})
		return
	}
	var both [2]*catalog.Run
	for i, id := range ids {
		o, err := s.catalog.Open(r.Context(), strings.TrimSpace(id), "", "")
		if err != nil {
			if errors.Is(err, deck.ErrNotFound) {
				err = &refused{http.StatusNotFound, fmt.Sprintf("there is no run %.100q in this deck", id)}
			}
			fail(w, err)
			return
		}
		both[i] = o
	}
	level := compare.Level(cmp.Or(q.Get("compare"), string(compare.Results)))
	options := compare.Options{Level: level}
	if err := options.Check(); err != nil {
		fail(w, &refused{http.StatusBadRequest, err.Error()})
		return
	}
	result, err := compare.Tapes(both[0].Tape, both[1].Tape, options)
	if err != nil {
		fail(w, &refused{http.StatusUnprocessableEntity, err.Error()})
		return
	}
	w.Header().Set("Content-Security-Policy", look.Policy+"; frame-ancestors 'none'")
	of := func(o *catalog.Run) sidebyside.Tape { return sidebyside.Of(o.Ref.RunID(), o.Tape) }
	to := sidebyside.Links{Home: "/", A: address(both[0].Ref, ""), B: address(both[1].Ref, "")}
	write(w, func(b *bytes.Buffer) error { return sidebyside.SiteHTML(b, to, of(both[0]), of(both[1]), result) })
}

// number is a parameter of a request; 0 where it is none.
func number(r *http.Request, name string) int {
	n, _ := strconv.Atoi(r.URL.Query().Get(name))
	return max(n, 0)
}

// write sends a page that was made without an error.
func write(w http.ResponseWriter, render func(*bytes.Buffer) error) {
	writeStatus(w, http.StatusOK, render)
}

func writeStatus(w http.ResponseWriter, status int, render func(*bytes.Buffer) error) {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}
