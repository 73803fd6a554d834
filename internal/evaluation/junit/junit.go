// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package junit writes reports as JUnit XML, which a CI shows as tests.
package junit

import (
	"encoding/xml"
	"io"
)

// Suite is a report.
type Suite struct {
	Name  string
	Cases []Case
	Notes string
}

// Case is a test. At most one of Failure, Error and Skipped is set: why it did not pass.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *Message `xml:"failure,omitempty"` // it does not hold
	Error   *Message `xml:"error,omitempty"`   // it could not be found out
	Skipped *Message `xml:"skipped,omitempty"`
}

// Message is a reason.
type Message struct {
	Text string `xml:"message,attr"`
}

// Write writes the suite with its counts.
func (s *Suite) Write(w io.Writer) error {
	doc := struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Cases    []Case   `xml:"testcase"`
		Notes    string   `xml:"system-out,omitempty"`
	}{Name: s.Name, Tests: len(s.Cases), Cases: s.Cases, Notes: s.Notes}
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			doc.Failures++
		case c.Error != nil:
			doc.Errors++
		case c.Skipped != nil:
			doc.Skipped++
		}
	}
	body, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(append([]byte(xml.Header), body...), '\n'))
	return err
}
