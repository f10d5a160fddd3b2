// Package faulted makes calls that a fault strikes while they are under way, and judges what is left of them.
package faulted
