// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package deploytest checks what lies in deploy/ without a cluster, a container engine or an init system. It is a module of its own because the types of
// Kubernetes, kustomize and the parser of BuildKit are nothing that the product needs.
package deploytest
