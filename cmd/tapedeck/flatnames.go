// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape"
)

// flatNames gives the files of runs names in one folder, no two alike. A run keeps the number that it has in the folder already, if the
// format numbers runs. So exporting again changes nothing.
type flatNames struct {
	format *interop.Format
	home   bool                   // the folder of a project, where the other tool names the files
	taken  map[string]*flatFile   // by name in lower case: some systems know no other
	byRun  map[string][]*flatFile // those of earlier calls
	next   map[string]int         // by name without a number, the next one that may be free
}

// flatFile is a file that is there already, or was named by this call.
type flatFile struct {
	name   string
	run    string // its run id; empty when it does not say
	digest string
	used   bool // by this call
}

// newFlatNames reads which names of a folder are taken. It reads every file of the folder if the format
// numbers runs. home says that the folder is the one where the other tool looks.
func newFlatNames(ctx context.Context, store deck.Store, format *interop.Format, home bool) (*flatNames, error) {
	f := &flatNames{format: format, home: home, taken: map[string]*flatFile{}, byRun: map[string][]*flatFile{}, next: map[string]int{}}
	if format.Numbered == nil {
		return f, nil
	}
	for object, err := range store.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		if strings.Contains(object.Key, "/") || !strings.HasSuffix(object.Key, ".json") {
			continue
		}
		body, err := store.Get(ctx, object.Key)
		if err != nil {
			return nil, err
		}
		file := &flatFile{name: object.Key, run: format.RunOf(body), digest: tape.FileDigest(body)}
		f.taken[strings.ToLower(file.name)] = file
		f.byRun[file.run] = append(f.byRun[file.run], file)
	}
	return f, nil
}

// name returns the name of the file of a tape, and its number where the format numbers runs. encode gives the file with a number.
func (f *flatNames) name(t *tape.Tape, encode func(number int) []byte) (name string, number int) {
	name = f.format.FileName(t)
	if f.format.Numbered == nil {
		if f.home {
			name = f.format.HomeName(t)
		}
		switch {
		case f.home && f.taken[strings.ToLower(name)] == nil:
			f.taken[strings.ToLower(name)] = &flatFile{name: name, run: t.Run.RunID, used: true}
		case f.home: // two runs of one name end in one nanosecond
			name = strings.TrimSuffix(name, ".json") + "-" + t.Run.RunID + ".json"
		case !strings.Contains(name, t.Run.RunID):
			name = t.Run.RunID + "-" + name
		}
		return name, 0
	}
	for _, file := range f.byRun[t.Run.RunID] {
		if n := numberOf(file.name); !file.used && file.name == f.format.Numbered(t, n) {
			file.used = true
			return file.name, n
		}
	}
	stem := f.format.Numbered(t, 0)
	for n := max(numberOf(name), f.next[stem], 1); ; n++ {
		name = f.format.Numbered(t, n)
		file := f.taken[strings.ToLower(name)]
		if file != nil && (file.used || file.run != "" || file.digest != tape.FileDigest(encode(n))) {
			continue
		}
		if file == nil {
			f.next[stem] = n + 1
		}
		f.taken[strings.ToLower(name)] = &flatFile{name: name, used: true}
		return name, n
	}
}

var numberForm = regexp.MustCompile(`-run([0-9]{1,9})\.json$`)

// numberOf is the number in the name of a file, 0 if there is none.
func numberOf(name string) int {
	m := numberForm.FindStringSubmatch(name)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}
