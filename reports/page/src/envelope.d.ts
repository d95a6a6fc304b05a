// What a page holds: ddpsim.report/1 (docs/reference/formats.md, Report). scripts/page_types.py makes the types of its documents.
import type * as ddpsim from 'documents';

export interface Envelope {
  schema: 'ddpsim.report/1';
  program: string;
  command: string;
  verdict: string;
  text: string;
  words: {causes: Record<string, string>; sources: Record<string, string>};
  documents: Documents;
}

export interface Documents {
  /** today's step */
  result?: ddpsim.SimulateResult;
  timeline?: ddpsim.Timeline;
  measured_timeline?: ddpsim.Timeline;
  recorded_timeline?: ddpsim.Timeline;
  recommended_result?: ddpsim.SimulateResult;
  recommended_timeline?: ddpsim.Timeline;
  tune?: ddpsim.TuneResult;
  advice?: ddpsim.AdviseResult;
  compare?: CompareResult;
  calibration?: ddpsim.CalibrateResult;
  validation?: ddpsim.ValidateResult;
  allreduce?: ddpsim.AllreduceResult;
  measured_all_reduces?: {source: string; rows: {size_bytes: number; time_us: number}[]};
}

/** A page draws one workload: its comparison stands in the document itself. */
export type CompareResult = ddpsim.CompareResult & Omit<ddpsim.Comparison, 'name' | 'share'>;

/** What every answer about one job says of it. */
export type JobAnswer = ddpsim.SimulateResult | ddpsim.TuneResult | ddpsim.AdviseResult;
