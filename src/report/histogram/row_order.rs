//! The order of rows.
//!
//! perf inserts rows into a red-black tree. Its comparison is no total order: of rows with equal counts it compares the lengths of call
//! chains if they are of one thread, and otherwise names. The result thus depends on the shape of the tree, which is reproduced here.

/// Orders items as insertion into a red-black tree does, one by one, before the first one that they precede.
pub(super) fn in_tree_order<T>(items: Vec<T>, is_before: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut tree = Tree { nodes: Vec::with_capacity(items.len()), root: None };
    for (index, item) in items.iter().enumerate() {
        tree.insert(index, |other| is_before(item, &items[other]));
    }
    let order = tree.in_order();
    let mut items: Vec<_> = items.into_iter().map(Some).collect();
    order.into_iter().filter_map(|index| items[index].take()).collect()
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: Option<usize>,
    /// The left and the right child.
    children: [Option<usize>; 2],
    is_red: bool,
}

#[derive(Debug)]
struct Tree {
    /// By index of the item.
    nodes: Vec<Node>,
    root: Option<usize>,
}

impl Tree {
    /// Adds the next item, which is before some of the others.
    fn insert(&mut self, index: usize, is_before: impl Fn(usize) -> bool) {
        let (mut parent, mut side, mut next) = (None, 0, self.root);
        while let Some(node) = next {
            parent = Some(node);
            side = usize::from(!is_before(node));
            next = self.nodes[node].children[side];
        }
        self.nodes.push(Node { parent, children: [None; 2], is_red: true });
        match parent {
            Some(parent) => self.nodes[parent].children[side] = Some(index),
            None => self.root = Some(index),
        }
        self.balance(index);
    }

    /// Restores the properties of the tree above a new node.
    fn balance(&mut self, mut node: usize) {
        while let Some(mut parent) = self.nodes[node].parent.filter(|&parent| self.nodes[parent].is_red) {
            let Some(grandparent) = self.nodes[parent].parent else { break };
            let side = self.side(grandparent, parent);
            let uncle = self.nodes[grandparent].children[1 - side].filter(|&uncle| self.nodes[uncle].is_red);
            if let Some(uncle) = uncle {
                self.nodes[parent].is_red = false;
                self.nodes[uncle].is_red = false;
                self.nodes[grandparent].is_red = true;
                node = grandparent;
                continue;
            }
            if self.side(parent, node) != side {
                self.rotate(parent, side);
                parent = node;
            }
            self.nodes[parent].is_red = false;
            self.nodes[grandparent].is_red = true;
            self.rotate(grandparent, 1 - side);
            break;
        }
        if let Some(root) = self.root {
            self.nodes[root].is_red = false;
        }
    }

    /// On which side of its parent a node is.
    fn side(&self, parent: usize, node: usize) -> usize {
        usize::from(self.nodes[parent].children[1] == Some(node))
    }

    /// Moves a node down to a side; its child on the other side takes its place.
    fn rotate(&mut self, node: usize, side: usize) {
        let Some(child) = self.nodes[node].children[1 - side] else { return };
        let (parent, inner) = (self.nodes[node].parent, self.nodes[child].children[side]);
        self.nodes[node].children[1 - side] = inner;
        if let Some(inner) = inner {
            self.nodes[inner].parent = Some(node);
        }
        self.nodes[child].parent = parent;
        match parent {
            Some(parent) => {
                let at = self.side(parent, node);
                self.nodes[parent].children[at] = Some(child);
            }
            None => self.root = Some(child),
        }
        self.nodes[child].children[side] = Some(node);
        self.nodes[node].parent = Some(child);
    }

    fn in_order(&self) -> Vec<usize> {
        let (mut order, mut pending, mut next) = (Vec::with_capacity(self.nodes.len()), Vec::new(), self.root);
        loop {
            while let Some(node) = next {
                pending.push(node);
                next = self.nodes[node].children[0];
            }
            let Some(node) = pending.pop() else { return order };
            order.push(node);
            next = self.nodes[node].children[1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_stably_by_a_total_order() {
        let items: Vec<u32> = (0..1000).map(|i| i * 7919 % 500).collect();
        let pairs: Vec<_> = items.iter().copied().enumerate().collect();
        let mut sorted = pairs.clone();
        sorted.sort_by_key(|&(_, item)| item);
        assert_eq!(in_tree_order(pairs, |a, b| a.1 < b.1), sorted);
        assert!(in_tree_order(Vec::<u32>::new(), |a, b| a < b).is_empty());
    }

    #[test]
    fn ends_with_any_comparison() {
        let items: Vec<u32> = (0..1000).collect();
        let mut ordered = in_tree_order(items.clone(), |a, b| (a * 31 + b * 17) % 3 == 0);
        ordered.sort_unstable();
        assert_eq!(ordered, items);
    }

    #[test]
    fn the_tree_stays_balanced() {
        let mut tree = Tree { nodes: Vec::new(), root: None };
        (0..1 << 12).for_each(|index| tree.insert(index, |_| false));
        let depth = |mut node: usize| {
            let mut depth = 0;
            while let Some(parent) = tree.nodes[node].parent {
                (node, depth) = (parent, depth + 1);
            }
            depth
        };
        assert!((0..1 << 12).map(depth).max().unwrap() <= 24);
    }
}
