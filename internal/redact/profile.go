// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact/detect"
)

// Mode says what stands for a value.
type Mode string

const (
	ModeToken Mode = "token" // [REDACTED:<rule>:<digest>]: equal values stay equal
	ModeMask  Mode = "mask"  // [REDACTED], except for keys and for ids that group runs
)

// The built-in policies.
const (
	PolicyDefault = "default"
	PolicyStrict  = "strict" // default, and everything that looks generated, whatever its name
)

// Profile says what is redacted and how. It has no effect on what a value becomes beyond that: the same profile and key give the same
// bytes everywhere.
type Profile struct {
	Policy     string     // default or strict; user rules add "+custom" to what tapes say
	Mode       Mode       // "" is ModeToken
	Disable    []string   // names of rules, or sections: gitleaks, vendor, credentials, pii
	Rules      []UserRule // besides the built-in ones
	SecretKeys []string   // further names whose values are secret: their words are the last ones of a name
	Allow      Allow      // what is never redacted
	Env        []string   // environment variables that may be captured: exact names and PREFIX_*

	key *Key
}

// Default is the profile with every built-in rule but those of strict.
func Default() Profile { return Profile{Policy: PolicyDefault, Mode: ModeToken} }

// Strict is Default and the rule for values that look generated under any name.
func Strict() Profile { return Profile{Policy: PolicyStrict, Mode: ModeToken} }

// WithKey returns the profile with a key.
func (p Profile) WithKey(k *Key) Profile {
	p.key = k
	return p
}

// strictRules are those that only strict has.
var strictRules = []string{detect.RuleAnywhere}

func (p *Profile) enabled(r detect.Rule) bool {
	if p.Policy != PolicyStrict && slices.Contains(strictRules, r.Name) {
		return false
	}
	if slices.Contains(p.Disable, r.Name) {
		return false
	}
	// Names that somebody adds are looked at even when the section of the rule is off.
	return !slices.Contains(p.Disable, r.Section) || r.Name == detect.RuleSecretKey && len(p.SecretKeys) > 0
}

func (p *Profile) validate() error {
	var errs []error
	if p.Policy != PolicyDefault && p.Policy != PolicyStrict {
		errs = append(errs, fmt.Errorf("policy must be %q or %q, got %q", PolicyDefault, PolicyStrict, p.Policy))
	}
	if p.Mode == "" {
		p.Mode = ModeToken
	}
	if p.Mode != ModeToken && p.Mode != ModeMask {
		errs = append(errs, fmt.Errorf("mode must be %q or %q, got %q", ModeToken, ModeMask, p.Mode))
	}
	known := map[string]bool{}
	for _, r := range detect.Rules() {
		known[r.Name], known[r.Section] = true, true
	}
	for _, name := range p.Disable {
		if !known[name] {
			errs = append(errs, fmt.Errorf("disable: %q is no rule and no section", name))
		}
	}
	for _, name := range p.Env {
		if rest := strings.TrimSuffix(name, "*"); rest == "" || strings.ContainsAny(rest, "*= ") {
			errs = append(errs, fmt.Errorf("env: %q is neither a name nor PREFIX_*", name))
		}
	}
	return errors.Join(errs...)
}

// Digest names everything that decides what is redacted and what stands for it, but the key: "sha256:" and hexadecimal digits.
func (p Profile) Digest() string {
	type ruleDigest struct {
		Name, Pattern string
		Keywords      []string
	}
	doc := struct {
		Engine, Gitleaks, Policy string
		Mode                     Mode
		Rules                    []ruleDigest
		User                     []UserRule
		SecretKeys               []string
		Allow                    Allow
	}{Engine: detect.Version, Gitleaks: detect.GitleaksVersion, Policy: p.Policy, Mode: p.Mode, User: p.Rules, SecretKeys: p.SecretKeys, Allow: p.Allow}
	if doc.Mode == "" {
		doc.Mode = ModeToken
	}
	for _, r := range detect.Rules() {
		if p.enabled(r.Rule) {
			doc.Rules = append(doc.Rules, ruleDigest{r.Name, r.Pattern, r.Keywords})
		}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err) // strings only
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Label is what a tape says as its policy: that of the profile, and "+custom" when users have added to it.
func (p Profile) Label() string {
	label := p.Policy
	if len(p.Disable) > 0 || len(p.Rules) > 0 || len(p.SecretKeys) > 0 || len(p.Allow.Values)+len(p.Allow.Patterns)+len(p.Allow.Paths) > 0 {
		label += "+custom"
	}
	return label
}
