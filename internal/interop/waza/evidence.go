// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// The evidence manifest of snapshots since 1.1 lists what the snapshot holds of a run. Each part has a digest, and one digest covers
// the whole. It is a checksum and no signature. It is read, checked and carried along. A manifest that no longer fits is taken away,
// never sealed anew, because only waza can vouch for what it captured.

var contentDigestShape = shape{{name: "sha256", is: aString}, {name: "encoding", is: aString}}

var evidenceShape = shape{
	{name: "version", is: aString},
	{name: "sha256", is: aString},
	{name: "source_manifest_sha256", is: aString, omit: true},
	{name: "origin", is: anObject, of: shape{
		{name: "eval_id", is: aString},
		{name: "task_id", is: aString},
		{name: "run_number", is: anInteger},
		{name: "attempt_count", is: anInteger},
		{name: "prior_attempts", is: aString},
	}},
	{name: "runtime", is: anObject, of: shape{
		{name: "waza_version", is: aString},
		{name: "requested_engine", is: aString},
		{name: "requested_model", is: aString},
		{name: "execution_mode", is: aString},
		{name: "dependency_mode", is: aString},
		{name: "requested_policy", is: aString},
		{name: "verified_enforcement", is: aString},
		{name: "go_version", is: aString},
		{name: "platform", is: aString},
		{name: "sdk_version", is: nullableString},
		{name: "effective_model_version", is: nullableString},
		{name: "no_skills", is: nullableBool},
		{name: "native_skill_control", is: aString},
	}},
	{name: "redaction", is: anObject, of: shape{
		{name: "policy", is: aString},
		{name: "applied_rules", is: stringList, omit: true},
		{name: "match_count", is: anInteger},
		{name: "limitations", is: stringList},
	}},
	{name: "artifacts", is: objectList, of: shape{
		{name: "id", is: aString},
		{name: "kind", is: aString},
		{name: "availability", is: aString},
		{name: "completeness", is: aString},
		{name: "document", is: aString, omit: true},
		{name: "pointer", is: aString, omit: true},
		{name: "content_digest", is: anObject, of: contentDigestShape, omit: true},
		{name: "source_digest", is: anObject, of: contentDigestShape, omit: true},
		{name: "reason", is: aString, omit: true},
		{name: "redacted", is: aBool, omit: true},
	}},
	{name: "diagnostics", is: objectList, omit: true, of: shape{
		{name: "category", is: aString},
		{name: "code", is: aString},
		{name: "message", is: aString},
	}},
}

// vocabularies are the values that members of a manifest may have.
var (
	executionModes = []string{"live", "mock", "unknown"}
	skillControls  = []string{"unknown", "sdk_default", "requested_sdk_disable", "mock_not_applicable"}
	completeness   = []string{"complete", "partial", "unknown"}
	encodings      = []string{encodingJSON, encodingUTF8, encodingBytes}
)

const (
	encodingJSON  = "json-v1"
	encodingUTF8  = "utf8"
	encodingBytes = "source-bytes"

	captured     = "captured"
	digestOnly   = "digest_only"
	unavailable  = "unavailable"
	notRequested = "not_requested"
)

// readManifest checks the types of a manifest, and returns it in its usual form, with every member that is always there, and the paths of
// unknown members.
func readManifest(manifest exactjson.Value) (usual exactjson.Value, unknown []string, err error) {
	var c checker
	m := c.object("", evidenceShape, manifest)
	return evidenceShape.usual(m), c.unknown, c.err
}

// checkEvidence checks the manifest of a document, if it has one. It checks that every member is known, the rules between members,
// the manifest's own digest, and the digests of what it points to.
func checkEvidence(doc exactjson.Value) error {
	evidence := doc.Get("evidence")
	if evidence.Kind() <= exactjson.Null {
		return nil
	}
	m, unknown, err := readManifest(evidence)
	switch {
	case err != nil:
		return err
	case len(unknown) > 0:
		return fmt.Errorf("%s: an unknown member", unknown[0])
	}
	if err := checkManifest(m); err != nil {
		return err
	}
	return checkArtifacts(doc, m)
}

// checkManifest checks a manifest in its usual form.
func checkManifest(m exactjson.Value) error {
	source := m.Get("source_manifest_sha256").Str()
	switch {
	case m.Get("version").Str() != "1.0":
		return errors.New("version: not 1.0")
	case strings.HasPrefix(m.Get("origin").Get("eval_id").Str(), "reference:"):
		return errors.New("origin.eval_id: authored reference input is no evidence of a run")
	case source != "" && !hex64(source):
		return errors.New("source_manifest_sha256: not a digest")
	case !slices.Contains(executionModes, m.Get("runtime").Get("execution_mode").Str()):
		return fmt.Errorf("runtime.execution_mode: not one of %s", strings.Join(executionModes, ", "))
	case !slices.Contains(skillControls, m.Get("runtime").Get("native_skill_control").Str()):
		return fmt.Errorf("runtime.native_skill_control: not one of %s", strings.Join(skillControls, ", "))
	}
	for _, path := range [][2]string{{"origin", "run_number"}, {"origin", "attempt_count"}, {"redaction", "match_count"}} {
		if n, _ := m.Get(path[0]).Get(path[1]).Int(); n < 0 {
			return fmt.Errorf("%s.%s: negative", path[0], path[1])
		}
	}
	ids := map[string]bool{}
	for i, a := range m.Get("artifacts").Members() {
		id := a.Value.Get("id").Str()
		if id == "" || ids[id] {
			return fmt.Errorf("artifacts.%d.id: empty or not unique", i)
		}
		ids[id] = true
		if err := checkArtifact(a.Value); err != nil {
			return fmt.Errorf("artifacts.%d: %w", i, err)
		}
	}
	if digestJSON(with(m, set("sha256", exactjson.Value{}))) != m.Get("sha256").Str() {
		return errors.New("sha256: the manifest has another digest")
	}
	return nil
}

// checkArtifact checks what the availability of an artifact demands of the other members.
func checkArtifact(a exactjson.Value) error {
	content, source := a.Get("content_digest"), a.Get("source_digest")
	for _, d := range []exactjson.Value{content, source} {
		if !d.IsAbsent() && (!hex64(d.Get("sha256").Str()) || !slices.Contains(encodings, d.Get("encoding").Str())) {
			return errors.New("not a digest")
		}
	}
	complete := a.Get("completeness").Str()
	if !slices.Contains(completeness, complete) {
		return fmt.Errorf("completeness: not one of %s", strings.Join(completeness, ", "))
	}
	located := !a.Get("document").IsEmpty() || !a.Get("pointer").IsEmpty()
	explained := !a.Get("reason").IsEmpty()
	switch a.Get("availability").Str() {
	case captured:
		if a.Get("document").Str() != "snapshot" || !pointerForm.MatchString(a.Get("pointer").Str()) || content.IsAbsent() ||
			content.Get("encoding").Str() == encodingBytes || complete != "complete" && !explained {
			return errors.New("captured needs a document, a pointer, a content digest, and a reason unless complete")
		}
	case digestOnly:
		if source.IsAbsent() || !content.IsAbsent() || !explained || located {
			return errors.New("digest_only needs a source digest and a reason, and no content")
		}
	case unavailable, notRequested:
		if !explained || !content.IsAbsent() || !source.IsAbsent() || located || complete == "complete" {
			return errors.New("what is absent needs a reason, no digest and no locator, and is not complete")
		}
	default:
		return errors.New("availability: not a known state")
	}
	return nil
}

// pointerForm is that of a JSON Pointer which points to a part.
var pointerForm = regexp.MustCompile(`^(/([^/~]|~[01])*)+$`)

// checkArtifacts compares what the manifest points to with its digests.
func checkArtifacts(doc, manifest exactjson.Value) error {
	for i, a := range manifest.Get("artifacts").Members() {
		if a.Value.Get("availability").Str() != captured {
			continue
		}
		v := pointed(doc, a.Value.Get("pointer").Str())
		want := a.Value.Get("content_digest")
		got := ""
		if want.Get("encoding").Str() == encodingUTF8 {
			if v.Kind() != exactjson.String {
				return fmt.Errorf("artifacts.%d.pointer: points to no text", i)
			}
			got = hexDigest([]byte(v.Text()))
		} else {
			got = digestJSON(v)
		}
		// A snapshot leaves empty values out, but its manifest vouches for them all the same.
		if v.IsAbsent() && (want.Get("sha256").Str() == emptyObject || want.Get("sha256").Str() == emptyArray) {
			continue
		}
		if got != want.Get("sha256").Str() {
			return fmt.Errorf("artifacts.%d.content_digest: the content has another digest", i)
		}
	}
	return nil
}

var (
	emptyObject = digestJSON(exactjson.ObjectValue())
	emptyArray  = digestJSON(exactjson.ArrayValue())
)

// pointed follows a JSON Pointer (RFC 6901); absent where it points to nothing.
func pointed(v exactjson.Value, pointer string) exactjson.Value {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		if v.Kind() == exactjson.Array {
			i, err := strconv.Atoi(token)
			if err != nil || strconv.Itoa(i) != token {
				return exactjson.Value{}
			}
			v = v.At(i)
		} else {
			v = v.Get(token)
		}
	}
	return v
}

// digestJSON is the digest "json-v1": of the compact text with names sorted, number literals as they are and HTML escaped.
func digestJSON(v exactjson.Value) string {
	var b bytes.Buffer
	json.HTMLEscape(&b, sorted(v, true).AppendJSON(nil))
	return hexDigest(b.Bytes())
}

func hexDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func hex64(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
