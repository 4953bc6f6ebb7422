//! Lists in which everything stands once.

/// Returns each item once, where it stood first. For short lists: each is compared with those before it.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_ones_stays() {
        assert_eq!(distinct([3, 1, 3, 2, 1]), [3, 1, 2]);
    }
}
