// distinct of 400,000 different rows: hashes start by chance, some 18 are equal. NODE_PATH: the folder of the packages.
const { D2, MultiSet, distinct, output } = require('@tanstack/db-ivm')

const graph = new D2()
const input = graph.newInput()
let count = 0
input.pipe(
  distinct(([, row]) => row),
  output((message) => message.getInner().forEach(([, copies]) => (count += copies))),
)
graph.finalize()
input.sendData(new MultiSet(Array.from({ length: 400000 }, (_, a) => [[a, { a }], 1])))
graph.run()
console.log('seen:', count < 400000 ? 'fewer than 400000' : count)
console.log('expected: 400000')
