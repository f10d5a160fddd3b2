package main

import (
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/examples/devprovider"
)

// people returns the persons that the development provider knows. Two of them
// are special: one has no address, and one has a picture of 6 KB in the
// profile, as Microsoft Entra ID sends it. The picture makes the session larger
// than a cookie can be, so the session is split into several cookies.
func people() []devprovider.Person {
	return []devprovider.Person{
		{ID: "grace", Name: "Grace Hopper", Email: "grace@example.com"},
		{ID: "alan", Name: "Alan Turing", Email: "alan@example.com"},
		{ID: "emmy", Name: "Emmy Noether"},
		{ID: "vera", Name: "Vera Rubin, with a large picture", Email: "vera@example.com", Picture: galaxy()},
	}
}

// galaxy returns a picture as a data URI.
func galaxy() string {
	var b strings.Builder
	b.WriteString("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 400 400'%3E")
	for i := range 150 {
		fmt.Fprintf(&b, "%%3Ccircle cx='%d' cy='%d' r='1'/%%3E", i*i*37%400, i*i*i*11%400)
	}
	return b.String() + "%3C/svg%3E"
}
