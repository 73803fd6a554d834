// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package browsertest looks at the pages of tapedeck with Chromium. Nobody else should have to require what drives a browser, so it is a
// module of its own.
package browsertest
