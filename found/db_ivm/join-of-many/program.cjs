// A join with 400,000 different rows of one key: hashes start by chance, some 18 are equal. NODE_PATH: the folder of the packages.
const { D2, MultiSet, join, output } = require('@tanstack/db-ivm')

const graph = new D2()
const left = graph.newInput()
const right = graph.newInput()
const seen = new Set()
left.pipe(
  join(right),
  output((message) => message.getInner().forEach(([[, [, row]]]) => seen.add(row.a))),
)
graph.finalize()
left.sendData(new MultiSet([[['k', { b: 1 }], 1]]))
right.sendData(new MultiSet(Array.from({ length: 400000 }, (_, a) => [['k', { a }], 1])))
graph.run()
console.log('seen:', seen.size < 400000 ? 'fewer different rows' : '400000 different rows')
console.log('expected: 400000 different rows')
