// Package client has the scripts that browsers run on pages that sign people
// in.
package client
