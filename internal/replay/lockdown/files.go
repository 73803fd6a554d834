// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

// Files say what a command may write. All other files it can read alone.
type Files struct {
	// Copies are folders that stand in the place of others.
	Copies []Copy `json:"copies,omitempty"`
	// Overlays are folders that the command sees and changes, while they stay as they are.
	Overlays []Overlay `json:"overlays,omitempty"`
	// Open are folders that stay open to writing: those of this program.
	Open []string `json:"open,omitempty"`
}

// Copy is a folder From that the command sees at At.
type Copy struct {
	From string `json:"from"`
	At   string `json:"at"`
}

// Overlay is a folder whose changes go to Upper. Work is an empty folder beside Upper, for the kernel.
type Overlay struct {
	Dir   string `json:"dir"`
	Upper string `json:"upper"`
	Work  string `json:"work"`
}
