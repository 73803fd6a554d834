// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package independent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Scanner is an installed program that searches text files for secrets.
type Scanner struct {
	name, program string
	args          []string                         // before the folder
	read          func([]byte) ([]reported, error) // of what it writes to stdout

}

// reported is a finding as a scanner tells it.
type reported struct {
	file string
	line int // from 1
	rule string
}

// Names of the scanners that are known here. Anything else is the path of a program with the contract of docs/cli.md.
const (
	Gitleaks   = "gitleaks"
	TruffleHog = "trufflehog"
)

// Open looks for a scanner: gitleaks, trufflehog, or the path of a program.
func Open(with string) (*Scanner, error) {
	if with == Gitleaks || with == TruffleHog {
		return openKnown(with, with)
	}
	if info, err := os.Stat(with); err != nil {
		return nil, fmt.Errorf("--with %s: neither %s nor %s, and no program: %w", with, Gitleaks, TruffleHog, err)
	} else if info.IsDir() {
		return nil, fmt.Errorf("--with %s: a folder is no program", with)
	}
	path, err := filepath.Abs(with)
	if err != nil {
		return nil, fmt.Errorf("--with %s: %w", with, err)
	}
	return openKnown(filepath.Base(with), path)
}

// openKnown is Open of a program that lies somewhere else than in the path.
func openKnown(name, program string) (*Scanner, error) {
	s := &Scanner{name: name}
	switch name {
	case Gitleaks:
		// A redacted report: the values never come here. Comments that say what to leave out are the sender's, so they do not count.
		s.args = []string{"dir", "--no-banner", "--no-color", "--log-level=error", "--redact=100", "--exit-code=0", "--ignore-gitleaks-allow", "--report-format=json", "--report-path=-"}
		s.read = readGitleaks
	case TruffleHog:
		// Without verification: it would send what it finds to the services.
		s.args = []string{"filesystem", "--json", "--no-verification", "--no-update", "--no-color"}
		s.read = readTruffleHog
	default:
		s.read = readContract
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("--with: %w", err)
	}
	s.program, err = filepath.Abs(path)
	return s, err
}

func (s *Scanner) String() string { return s.name }

const (
	maxReport = 64 << 20 // bytes on stdout
	batchSize = 64 << 20 // bytes of text that lie in the folder at a time
	// afterKill is how long pipes that a killed scanner has left to others are waited for.
	afterKill = 5 * time.Second
)

// Finding is something that the scanner found in an object.
type Finding struct{ URL, Path, Rule string }

// Search is one search of many objects. Close it.
type Search struct {
	scanner *Scanner
	timeout time.Duration
	batch   []*text
	size    int
	most    int // bytes of text in a batch
	dir     string
}

// Search begins a search. A run of the scanner, which sees a batch of objects, takes no longer than the timeout.
func (s *Scanner) Search(timeout time.Duration) (*Search, error) {
	dir, err := os.MkdirTemp("", "tapedeck-scan-") // for this user alone
	if err != nil {
		return nil, err
	}
	return &Search{scanner: s, timeout: timeout, most: batchSize, dir: dir}, nil
}

// Close takes the texts away.
func (s *Search) Close() error { return os.RemoveAll(s.dir) }

// Add takes an object. It returns what was found so far, if this was the time to look: in batches, which Flush ends.
func (s *Search) Add(ctx context.Context, url, key string, body []byte) ([]Finding, error) {
	t, err := textOf(url, key, body)
	if err != nil {
		return nil, err
	}
	s.batch, s.size = append(s.batch, t), s.size+t.lines.Len()
	if s.size < s.most {
		return nil, nil
	}
	return s.Flush(ctx)
}

// Flush searches what was added since the last time. Findings have the order of the objects and of their lines.
func (s *Search) Flush(ctx context.Context) (findings []Finding, err error) {
	if len(s.batch) == 0 {
		return nil, nil
	}
	batch := s.batch
	s.batch, s.size = nil, 0
	folder := filepath.Join(s.dir, "texts")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	for i, t := range batch {
		if err := os.WriteFile(filepath.Join(folder, fileName(i)), t.lines.Bytes(), 0o600); err != nil {
			return nil, err
		}
		t.lines.Reset()
	}
	report, err := s.run(ctx, folder)
	if err != nil {
		return nil, err
	}
	byFile := map[string][]reported{}
	for _, r := range report {
		byFile[r.file] = append(byFile[r.file], r)
	}
	for i, t := range batch {
		hits := byFile[fileName(i)]
		delete(byFile, fileName(i))
		slices.SortStableFunc(hits, func(a, b reported) int { return cmp.Or(a.line-b.line, strings.Compare(a.rule, b.rule)) })
		lines := make([]int, len(hits))
		for j, r := range hits {
			lines[j] = r.line
		}
		for j, place := range t.places(lines) {
			f := Finding{URL: t.url, Path: place, Rule: plainRule(hits[j].rule)}
			if !slices.Contains(findings, f) {
				findings = append(findings, f)
			}
		}
	}
	if len(byFile) > 0 {
		return nil, fmt.Errorf("%s: its report names files that it was not given", s.scanner)
	}
	return findings, nil
}

func fileName(i int) string { return fmt.Sprintf("%06d.txt", i) }

// plainRule is the name of a rule if it looks like one: a program of somebody's could write a secret there.
func plainRule(rule string) string {
	for i := range len(rule) {
		c := rule[i] | 0x20
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && rule[i] != '_' && rule[i] != '.' {
			return "unnamed"
		}
	}
	if rule == "" || len(rule) > 64 {
		return "unnamed"
	}
	return rule
}

func (s *Search) run(ctx context.Context, folder string) ([]reported, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("it did not end within %v", s.timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, s.scanner.program, append(slices.Clone(s.scanner.args), ".")...)
	cmd.Dir = folder
	cmd.Env = environment(os.Environ())
	cmd.WaitDelay = afterKill
	out := &bounded{stop: cancel}
	cmd.Stdout = out // stderr goes nowhere: it may hold what was found
	err := cmd.Run()
	switch {
	case out.over:
		return nil, fmt.Errorf("%s: its report is longer than %d bytes", s.scanner, maxReport)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", s.scanner, context.Cause(ctx))
	case err != nil && cmd.ProcessState == nil:
		return nil, fmt.Errorf("%s could not be started: %w", s.scanner, err)
	case err != nil:
		return nil, fmt.Errorf("%s failed (%s); what it said is not shown, because it may hold secrets", s.scanner, cmd.ProcessState)
	}
	report, err := s.scanner.read(out.kept.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: its report cannot be read (%w)", s.scanner, err)
	}
	return report, nil
}

// environment is what a scanner gets to know of ours: no credentials of object stores, no key of redaction.
func environment(all []string) (some []string) {
	for _, e := range all {
		name, _, _ := strings.Cut(e, "=")
		name = strings.ToUpper(name)
		if slices.Contains([]string{"PATH", "HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LANG"}, name) ||
			strings.HasPrefix(name, "GITLEAKS_") || strings.HasPrefix(name, "TRUFFLEHOG_") {
			some = append(some, e)
		}
	}
	return some
}

// bounded keeps what is written up to a size, and ends the program that writes more.
type bounded struct {
	kept bytes.Buffer // no embedding: its ReadFrom would have no bound
	stop func()
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > maxReport {
		b.over = true
		b.stop()
		return 0, errors.New("too long")
	}
	return b.kept.Write(p)
}
