//! Blind labelling. May not name the other zones that know what a model said, nor open files itself.
