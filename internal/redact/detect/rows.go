// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// How a walk over JSON learns the names of columns, and finds the values of secret ones: {"columns":
// [{"name": "password"}], "rows": [["…"]]}, in any order; a list of lists whose first one names the others;
// cells that are objects ({"v": "…"}).

// isColumnName holds for the member that names a column.
func isColumnName(name string) bool {
	switch name {
	case "name", "Name", "label", "columnName", "column_name", "title", "field", "key", "id":
		return true
	}
	return false
}

// columns says what is known of a bracket that has just been opened from the one around it.
func (p *Walk) columns(outside, opened *frame, inArray bool) {
	at := len(p.path) - 1 // of the bracket around it
	if at < 0 {
		return
	}
	switch {
	case inArray:
		opened.place = p.path[at].index
		switch {
		case opened.object:
			opened.collect, opened.cell = outside.collect, outside.row.at(opened.place)
			opened.header = outside.header // {"row": ["…"]}
		case outside.header != nil:
			opened.row = outside.header
		}
	case outside.object && !opened.object:
		switch name := p.path[at].name; {
		case columnsOf(name):
			opened.collect = &header{}
		case outside.header != nil && outside.place >= 0 && outside.inRow:
			opened.row = outside.header
		case outside.header != nil:
			opened.header = outside.header
		case outside.form != asksNothing && outside.form != asksCode && (name == "arguments" || name == "args" || name == "values" || name == "value"):
			opened.key = outside.form.name()
		}
	case outside.object && opened.object && columnsOf(p.path[at].name):
		opened.named = true
	}
	opened.inRow = inArray && opened.object && outside.header != nil
}

// headed notes the name of a column in the first list of a list of lists.
func (p *Walk) headed(list, top *frame, text string) {
	i := p.path[len(p.path)-1].index
	switch {
	case top.collect != nil:
		top.collect.add(p.columnOf(text), i)
	case top.pair && top.place == 0 && list.header == nil && len(text) <= 32 && columnWord(text):
		if k := p.columnOf(text); k != nil {
			if list.titles == nil {
				list.titles = &header{}
			}
			list.titles.add(paired, i)
		}
	}
}

// columnWord holds for what a column can be called.
func columnWord(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isAlpha(c) && c != '_' && c != ' ' && c != '-' && c < 0x80 {
			return false
		}
	}
	return text != ""
}

// closedIn notes what a bracket that has been closed says about the one around it. It returns the rows that
// stood before the names of their columns.
func (p *Walk) closedIn(outside, closed *frame, at int) (rows [2]int, by *header) {
	if closed.collect != nil && closed.collect.used && !closed.object && outside.object {
		outside.header = closed.collect
		rows, outside.rows = outside.rows, [2]int{}
		return rows, outside.header
	}
	if closed.named && closed.object && closed.header != nil && outside.object { // {"schema": {"fields": […]}}
		outside.header = closed.header
		rows, outside.rows = outside.rows, [2]int{}
		return rows, outside.header
	}
	if outside.object && !closed.object && closed.lists && outside.header == nil {
		outside.rows = [2]int{closed.open, at}
	}
	if !outside.object && !closed.object && closed.place == 0 {
		outside.lists = true
		if outside.titles != nil && outside.header == nil { // the first list has named the others
			outside.header = outside.titles
		}
	}
	return rows, nil
}

// rowsBefore searches the values of secret columns in rows that stand before the names of the columns.
func (p *Walk) rowsBefore(edits []edit, s string, rows [2]int, by *header) []edit {
	r := jsonscan.New(s[:rows[1]], rows[0])
	depth, column := 0, -1
	var values []again
	for {
		t := r.Next()
		switch t.Kind {
		case jsonscan.End, jsonscan.Bad:
			return p.anew(edits, s, values)
		case jsonscan.Open:
			if depth == 2 {
				column++
			}
			if depth++; depth == 2 {
				column = -1
			}
		case jsonscan.Close:
			depth--
		case jsonscan.Key:
		default:
			if depth != 2 {
				continue
			}
			if column++; t.Kind == jsonscan.String {
				if k := by.at(column); k != nil {
					values = append(values, again{t, k})
				}
			}
		}
	}
}

// again is a string that is searched again, as the value of what its name turned out to be.
type again struct {
	at  jsonscan.Token
	key *Name
}

// anew searches strings again, which stand in order. What was found in them before is dropped.
func (p *Walk) anew(edits []edit, s string, values []again) []edit {
	if len(values) == 0 {
		return edits
	}
	from := len(edits)
	for from > 0 && edits[from-1].start > values[0].at.Start {
		from--
	}
	rest := slices.Clone(edits[from:])
	edits = edits[:from]
	if p.r.work != nil {
		p.r.work.Add(int64(len(rest)))
	}
	for _, v := range values {
		for len(rest) > 0 && rest[0].start < v.at.Start {
			edits, rest = append(edits, rest[0]), rest[1:]
		}
		for len(rest) > 0 && rest[0].start < v.at.End {
			rest = rest[1:]
		}
		edits = inside(edits, s, v.at, p.leaf(decoded(s, v.at), cmp.Or(p.inherited, v.key)))
	}
	return append(edits, rest...)
}

var columnsInText = seeker{rule: "table-json", class: Known, by: "table-column", text: "a secret column of the result of a query, in JSON that stands in other text", words: []string{"columns\":", "headers\":", "fields\":", "header\":", "cols\":", "columnnames\":", "columns':", "headers':", "fields':"}, find: (*finder).jsonColumns}

// jsonColumns looks at the names of columns, and at the lists of lists behind them, in text that could not be
// read as JSON.
func (f *finder) jsonColumns(_ ruleID, at, end int) {
	s := f.s
	if at < f.recorded || f.on.rules.table == none {
		return
	}
	i := spaces(s, end, 1)
	if i >= len(s) || s[i] != '[' {
		return
	}
	stop := min(len(s), i+maxTableBytes)
	by, i := f.jsonHeader(i, stop)
	if !by.used {
		return
	}
	n := strings.Index(s[i:min(len(s), i+400)], "[[")
	if n < 0 {
		n = strings.Index(s[i:min(len(s), i+400)], "[ [")
	}
	if n < 0 {
		return
	}
	f.recorded = stop
	f.jsonRows(&by, i+n, stop)
}

// jsonHeader reads the names of columns in the list that begins at i, and returns where the list ends.
// Nothing is used of a list that does not end.
func (f *finder) jsonHeader(i, stop int) (by header, end int) {
	s := f.s
	column, depth, last := -1, 0, ""
	for r := jsonscan.New(s[:stop], i); ; {
		t := r.Next()
		f.work += t.End - t.Start
		switch t.Kind {
		case jsonscan.Bad, jsonscan.End:
			return header{}, stop
		case jsonscan.Open:
			if depth++; depth == 2 {
				column++
			}
		case jsonscan.Close:
			depth--
		case jsonscan.Key:
			last = s[t.Start+1 : t.End-1]
		case jsonscan.String:
			if depth == 1 {
				column++
			}
			if depth == 1 || depth == 2 && isColumnName(last) {
				f.addColumn(&by, s[t.Start+1:t.End-1], column)
			}
		}
		if depth == 0 {
			return by, t.End
		}
	}
}

// addColumn notes a column whose name is that of a secret or of a key.
func (f *finder) addColumn(by *header, name string, column int) {
	switch secret, key := f.columnName(name); {
	case secret:
		by.add(aColumn, column)
	case key:
		by.add(aKeyField, column)
	}
}

// jsonRows looks at the secret columns of the list of lists that begins at i.
func (f *finder) jsonRows(by *header, i, stop int) {
	depth, column := 0, -1
	for r := jsonscan.New(f.s[:stop], i); ; {
		t := r.Next()
		f.work += t.End - t.Start
		switch t.Kind {
		case jsonscan.Bad, jsonscan.End:
			return
		case jsonscan.Open:
			if depth++; depth == 2 {
				column = -1
			} else if depth == 3 {
				column++
			}
		case jsonscan.Close:
			if depth--; depth == 0 {
				return
			}
		case jsonscan.Key:
		default:
			if depth != 2 {
				continue
			}
			column++
			if k := by.at(column); k != nil && t.Kind == jsonscan.String {
				f.column(t.Start+1, t.End-1, true, k == aKeyField)
			}
		}
	}
}
