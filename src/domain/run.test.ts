/** What a run remembers of the holders that it had. */
import { expect, it } from 'vitest'
import { theRun } from '../../test/http/fakes.ts'
import { makePending, type Run } from './run.ts'

it('a run knows its last sixteen leases, the newest first', () => {
  let run: Run = { ...theRun, pastLeaseHashes: '' }
  for (let lease = 1; lease <= 20; lease += 1) {
    run = makePending({ ...run, leaseHash: `lease-${lease}` }, lease)
  }
  const known = Array.from({ length: 16 }, (_, at) => `lease-${20 - at}`)
  expect(run.pastLeaseHashes.split(' ')).toEqual(known)
})
