"""One panel each: a view takes its model, emits intents, computes nothing."""
