"""The tests: a mirror of the package, the house's own rules, and the stories it promises."""
