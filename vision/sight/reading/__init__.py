"""From looks at cards to faces, each with a bound on its error."""
