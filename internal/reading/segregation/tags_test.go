// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package segregation

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestTagsReadBackFromTheirText(t *testing.T) {
	for _, tags := range []Tags{
		{},
		{IDs: []string{"r1"}},
		{IDs: []string{"a&b=c", "r 1;%", "ü"}, Of: []string{someRun, someTape}, Malformed: true, Marked: true},
		{Marked: true},
	} {
		if diff := cmp.Diff(tags, ParseTags(tags.String()), cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
	for _, text := range []string{"%zz", "other=1", "replay_run_id=", "replay_run_id=%00"} {
		if tags := ParseTags(text); !tags.Malformed {
			t.Errorf("%q: %+v", text, tags)
		}
	}
	if tags := ParseTags(""); !tags.IsEmpty() {
		t.Errorf("no text: %+v", tags)
	}
}

func TestTagsWithoutOthers(t *testing.T) {
	got := Tags{IDs: []string{"a", "b"}, Of: []string{"x"}, Malformed: true, Marked: true}.Without(Tags{IDs: []string{"b"}, Marked: true})
	if diff := cmp.Diff(Tags{IDs: []string{"a"}, Of: []string{"x"}, Malformed: true}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseTags(f *testing.F) {
	f.Add("replay_run_id=r1&replay_of=x&replay_marked=true")
	f.Add("replay_malformed=true;")
	f.Fuzz(func(t *testing.T, text string) {
		tags := ParseTags(text)
		if !slices.IsSorted(tags.IDs) || len(tags.IDs) > maxIDs || len(tags.Of) > maxIDs {
			t.Errorf("%+v", tags)
		}
		if diff := cmp.Diff(tags, ParseTags(tags.String()), cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		if text != "" && tags.IsEmpty() && len(text) > 0 && text[0] != '&' {
			t.Errorf("%q says nothing", text)
		}
	})
}
