// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Area is the part of a deck in which a trace lies.
type Area string

// The areas, in the order in which they are searched.
const (
	AreaRuns      Area = "runs"      // production runs
	AreaJoined    Area = "joined"    // runs joined of several traces
	AreaReplays   Area = "replays"   // replays, each below its replay_run_id
	AreaUndecided Area = "undecided" // production or replay: the root has not come
)

// Areas lists all areas in the order in which they are searched.
func Areas() []Area { return []Area{AreaRuns, AreaJoined, AreaReplays, AreaUndecided} }

const (
	markerKey  = "tapedeck.json"
	markerBody = `{"kind":"tape-deck","layout":"%s"}` + "\n"

	// What lies beside the folder of a location, except in the first layout. A dot sorts before a
	// slash, so these come before what lies in it.
	buriedFolder = ".buried/" // the tombstone of the whole location
	flagsFolder  = ".flags/"  // tombstones of parts and generations, and the flag of undecided evidence

	// TapeFile is the file that makes a run of a generation complete.
	TapeFile = "tape.json"
	// OracleFile, AIWGFile and WazaSuffix are the files beside it.
	OracleFile = "oracle.json"
	AIWGFile   = "execution-snapshot.json"
	WazaSuffix = "-run1.json"

	jsonType = "application/json"
	partType = "application/zstd"

	// PartSuffix ends the names of parts.
	PartSuffix = ".otlp.zst"

	partsFolder = "parts"
)

// Location is where the evidence and the tapes of one trace lie. It is known from
// the first span of a trace. Locations can be compared and be map keys.
type Location struct {
	Area        Area
	ReplayRunID string // in AreaReplays only
	Tenant      string
	TraceID     string // 32 lower-case hex digits; of a joined run, its first trace

	// A location that was read from a key holds escaped names as they stand there:
	// what they were before cannot be told.
	tenantEscaped, replayEscaped bool
}

// Validate tells whether the location can be in a deck.
func (p Location) Validate() error {
	reason := ""
	switch {
	case p.Area != AreaRuns && p.Area != AreaJoined && p.Area != AreaReplays && p.Area != AreaUndecided:
		reason = fmt.Sprintf("unknown area %q", shorten(string(p.Area)))
	case (p.Area == AreaReplays) != (p.ReplayRunID != ""):
		reason = "replays, and nothing else, have a replay_run_id"
	case p.Tenant == "":
		reason = "no tenant"
	case len(p.TraceID) != 32 || !isHex(p.TraceID):
		reason = fmt.Sprintf("trace id %q is not 32 lower-case hex digits", shorten(p.TraceID))
	default:
		return nil
	}
	return &StoreError{Op: "check", Scheme: "deck", Reason: "location: " + reason, Permanent: true, Err: ErrBadKey}
}

// Prefix returns the key of the folder of a valid location, without a slash at its
// end.
func (p Location) Prefix() string {
	var b strings.Builder
	b.Grow(128)
	b.WriteString(string(p.Area))
	b.WriteByte('/')
	if p.Area == AreaReplays {
		b.WriteString(segment(p.ReplayRunID, p.replayEscaped))
		b.WriteByte('/')
	}
	b.WriteString(segment(p.Tenant, p.tenantEscaped))
	b.WriteByte('/')
	b.WriteString(p.TraceID[:min(2, len(p.TraceID))])
	b.WriteByte('/')
	b.WriteString(p.TraceID)
	return b.String()
}

func (p Location) String() string { return p.Prefix() }

// Of tells whether the location belongs to a tenant. The tenant is named as it
// is or as it stands in keys; "" stands for all tenants.
func (p Location) Of(tenant string) bool {
	have := segment(p.Tenant, p.tenantEscaped)
	return tenant == "" || tenant == have || SafeName(tenant) == have
}

// TenantKey is the tenant as it stands in keys.
func (p Location) TenantKey() string { return segment(p.Tenant, p.tenantEscaped) }

func segment(name string, escaped bool) string {
	if escaped {
		return name
	}
	return SafeName(name)
}

// ParseLocation reads the location from the key of an object or folder in or at
// it, and returns what is left of the key. For a location with plain names it
// is the inverse of Prefix. If a name is escaped, the location keeps the
// escaped form, and Prefix returns the same key again.
func ParseLocation(key string) (p Location, rest string, err error) {
	area, _, _ := strings.Cut(key, "/")
	p.Area = Area(area)
	n := 4 // area, tenant, two digits, trace
	if p.Area == AreaReplays {
		n = 5
	}
	segs := strings.SplitN(strings.TrimSuffix(key, "/"), "/", n+1)
	if len(segs) < n {
		return Location{}, "", badLocation(key)
	}
	if len(segs) > n {
		rest = segs[n]
	}
	names := segs[1 : n-2]
	if p.Area == AreaReplays {
		p.ReplayRunID, p.replayEscaped = names[0], escapedName(names[0])
	}
	p.Tenant, p.tenantEscaped = names[len(names)-1], escapedName(names[len(names)-1])
	p.TraceID = segs[n-1]
	for _, name := range names {
		if !wellFormedName(name) {
			return Location{}, "", badLocation(key)
		}
	}
	if p.Validate() != nil || segs[n-2] != p.TraceID[:2] {
		return Location{}, "", badLocation(key)
	}
	return p, rest, nil
}

func badLocation(key string) error {
	return &StoreError{Op: "check", Scheme: "deck", Key: shorten(key), Reason: "not in a location of the deck layout", Permanent: true, Err: ErrBadKey}
}

// partKey is the key of a part. In the first layout parts have a folder of their
// own, and each generation one with a folder for each run. A folder costs a file
// system about as much as a file does.
func (p Location) partKey(layout Layout, digest string) string {
	if layout == LayoutFiles1 {
		return p.Prefix() + "/" + partsFolder + "/" + digest + PartSuffix
	}
	return p.Prefix() + "/" + digest + PartSuffix
}

// generationKey begins the keys of a generation, and of nothing else.
func (p Location) generationKey(layout Layout, gen Generation) string {
	if layout == LayoutFiles1 {
		return p.Prefix() + "/" + gen.String() + "/"
	}
	return p.Prefix() + "/" + gen.String() + "."
}

// fileKey is the key of a file of a run.
func (p Location) fileKey(layout Layout, gen Generation, root, name string) string {
	return p.generationKey(layout, gen) + root + "/" + name
}

// parseRest tells what the rest of a key in a location is: the digest of a part,
// or a generation with a file of a run.
func parseRest(layout Layout, rest string) (part string, gen Generation, root, name string) {
	if digest, ok := strings.CutSuffix(rest, PartSuffix); ok {
		if layout == LayoutFiles1 {
			digest, ok = strings.CutPrefix(digest, partsFolder+"/")
		}
		if ok && isPartDigest(digest) {
			return digest, gen, "", ""
		}
		return "", gen, "", ""
	}
	between := "."
	if layout == LayoutFiles1 {
		between = "/"
	}
	generation, file, _ := strings.Cut(rest, between)
	root, name, ok := strings.Cut(file, "/")
	if gen, parsed := ParseGeneration(generation); ok && parsed && validRoot(root) && name != "" && !strings.Contains(name, "/") {
		return "", gen, root, name
	}
	return "", Generation{}, "", ""
}

// Generation names one derivation of the tapes of a trace. It holds the number
// of distinct items (spans and log records) that the tapes were derived from,
// and the revision of the derivation. Its digest is over the parts and the
// producer, 64 hex digits. [NewGeneration] computes the digest.
type Generation struct {
	Items    int
	Revision int // 0 before there were revisions
	Digest   string
}

// itemDigits is the width to which the number of items is padded, so that
// generations sort by it; larger numbers are written in full.
const itemDigits = 10

// revisionDigits does the same for revisions.
const revisionDigits = 4

func (g Generation) String() string {
	if g.Revision == 0 {
		return fmt.Sprintf("g%0*d-%s", itemDigits, g.Items, g.Digest)
	}
	return fmt.Sprintf("g%0*d-r%0*d-%s", itemDigits, g.Items, revisionDigits, g.Revision, g.Digest)
}

// Compare orders generations by items, then revision, then digest: more evidence
// wins, on equal evidence the newer derivation. The greatest complete one is the
// current one.
func (g Generation) Compare(other Generation) int {
	return cmp.Or(cmp.Compare(g.Items, other.Items), cmp.Compare(g.Revision, other.Revision), strings.Compare(g.Digest, other.Digest))
}

// Replaces tells whether nothing can bring the other generation back once this
// one is there: it has less evidence, or the same and an older revision. Two
// producers of one revision leave each other's generations alone.
func (g Generation) Replaces(other Generation) bool {
	return cmp.Or(cmp.Compare(g.Items, other.Items), cmp.Compare(g.Revision, other.Revision)) > 0
}

func (g Generation) validate() error {
	if g.Items < 0 || g.Revision < 0 || len(g.Digest) != 64 || !isHex(g.Digest) {
		return &StoreError{Op: "check", Scheme: "deck", Reason: "generation: items or digest is not valid", Permanent: true, Err: ErrBadKey}
	}
	return nil
}

// ParseGeneration reads the name of a generation folder.
func ParseGeneration(name string) (Generation, bool) {
	number, digest, ok := strings.Cut(strings.TrimPrefix(name, "g"), "-")
	items, err := strconv.Atoi(number)
	g := Generation{Items: items, Digest: digest}
	if revision, rest, has := strings.Cut(digest, "-"); has && err == nil {
		g.Revision, err = strconv.Atoi(strings.TrimPrefix(revision, "r"))
		g.Digest = rest
	}
	// Written back it must be the same: one folder per generation.
	if !ok || err != nil || g.validate() != nil || g.String() != name {
		return Generation{}, false
	}
	return g, true
}

// validRoot tells whether a root span id can name the folder of a run.
func validRoot(root string) bool { return len(root) == 16 && isHex(root) }

// IsMarker tells whether a key is that of the marker of a deck.
func IsMarker(key string) bool { return key == markerKey }
