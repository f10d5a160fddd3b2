package main

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/examples/frameworks/internal/program"
)

func TestProgram(t *testing.T) { program.Test(t, "fullstack", newSite, main) }
